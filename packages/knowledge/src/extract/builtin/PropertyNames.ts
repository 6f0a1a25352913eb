/** Finds the property or class that a key or a column heading means. */
import { isFunctionWord } from "../language/FunctionWords.ts"
import { unmarked } from "../language/ProseLanguage.ts"
import { stem, withoutPlural } from "../language/Stem.ts"
import { labelKey } from "../language/Words.ts"
import type { OntologyView } from "./OntologyView.ts"

export class PropertyNames {
  private readonly view: OntologyView
  private readonly usable: ReadonlySet<string>
  private readonly labelStems: ReadonlySet<string>
  /** By label without accents, which tables often leave out. */
  private readonly unaccented = new Map<string, string>()

  constructor(view: OntologyView) {
    this.view = view
    this.usable = new Set(view.properties.map((property) => property.iri))
    const classNames = [...view.ontology.classes.keys()].flatMap((iri) => [...view.ontology.names(iri)])
    this.labelStems = new Set([
      ...view.properties.flatMap(({ stems }) => [...stems]),
      ...classNames.flatMap((name) =>
        labelKey(name)
          .split(" ")
          .map((word) => stem(withoutPlural(word))),
      ),
    ])
    for (const iri of this.usable) for (const name of view.ontology.names(iri)) this.unaccented.set(unmarked(labelKey(name)), iri)
  }

  /** By its label; else by a label or label and like words that have all words of the key. */
  find(key: string): { readonly property: string; readonly match: number } | undefined {
    const exact = this.view.ontology.withLabel(key).properties.find((iri) => this.usable.has(iri))
    if (exact !== undefined) return { property: exact, match: 0.95 }
    const unaccented = this.unaccented.get(unmarked(labelKey(key)))
    if (unaccented !== undefined) return { property: unaccented, match: 0.9 }
    const stems = labelKey(key)
      .split(" ")
      .filter((word) => word !== "" && !isFunctionWord(word))
      .map(stem)
    if (stems.length === 0) return undefined
    const sameStems = this.view.properties.filter(
      (property) => property.stems.size === stems.length && stems.every((one) => property.stems.has(one)),
    )
    if (sameStems.length === 1) return { property: sameStems[0]!.iri, match: 0.85 }
    const within = this.view.properties.filter((property) => stems.every((one) => property.stems.has(one) || property.related.has(one)))
    return within.length === 1 ? { property: within[0]!.iri, match: 0.6 } : undefined
  }

  /** Whether a word is of a label of the ontology. */
  isLabelWord(word: string): boolean {
    return this.labelStems.has(stem(withoutPlural(word)))
  }

  classNamed(key: string): string | undefined {
    return this.view.ontology.withLabel(key).classes[0]
  }
}
