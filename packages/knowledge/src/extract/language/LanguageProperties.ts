/** Finds the properties and classes of an ontology by the words of a language: their labels, and words of related meaning. */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { isDateType, isNumberType } from "../../rdf/Vocabulary.ts"
import { readGroups } from "../../text/VerbLexicon.ts"
import { fold, labelKey } from "../../text/Words.ts"
import { type ProseLanguage, unmarked } from "./ProseLanguage.ts"

/** The kind of a property's values. */
export type ValueKind = "date" | "number" | "place" | "entity" | "text"

export interface LanguageProperty {
  readonly iri: string
  readonly kind: ValueKind
}

export interface Triggered {
  readonly property: LanguageProperty
  /** By a word of its own label, or by a word of related meaning. */
  readonly strength: "label" | "related"
  /** Whether the values are the agents of the word: by its label "founder" or "founded by". Another label of the property may name an act. */
  readonly agentive: boolean
}

const placeClass =
  /(?:^|\s)(?:place|city|town|country|location|region|village|settlement|ort|stadt|land|gemeinde|lieu|ville|pays|région|commune|lugar|ciudad|país|región|municipio)(?:\s|$)/u

const organisationClass =
  /(?:^|\s)(?:company|organisation|organization|business|firm|enterprise|brewery|publisher|institution|school|university|club|team|museum|bank|unternehmen|firma|organisation|brauerei|verlag|schule|universität|verein|entreprise|société|maison|école|empresa|compañía|sociedad|escuela)(?:\s|$)/u

/** In letters. */
const shortStem = 3

export class LanguageProperties {
  readonly #language: ProseLanguage
  readonly #ontology: OntologyIndex
  readonly #byStem = new Map<string, Array<Triggered>>()
  /** The words of labels and of groups of related words as they are written, without diacritics. */
  readonly #written = new Set<string>()
  readonly #classes = new Map<string, Array<{ readonly stems: ReadonlyArray<string>; readonly iri: string }>>()

  constructor(ontology: OntologyIndex, language: ProseLanguage) {
    this.#language = language
    this.#ontology = ontology
    const related = readGroups(language.synonyms, (word) => language.stem(fold(word)))
    for (const word of language.synonyms.split(/\s+/)) this.#written.add(unmarked(fold(word)))
    for (const { iri, deprecated } of ontology.ontology.properties) {
      const labels = deprecated ? [] : this.#labels(iri)
      const property = { iri, kind: this.#kind(iri, labels) }
      const own = labels.map((label) => ({ ...this.#content(label), agentive: this.#isAgentive(label) }))
      for (const word of own.flatMap(({ words }) => words)) this.#written.add(unmarked(word))
      const ofLabels = triggeringStems(own)
      const ofRelated = triggeringStems(
        own.map(({ stems, agentive }) => ({ stems: stems.flatMap((one) => [...(related.get(one) ?? [])]), agentive })),
      )
      for (const [stem, agentive] of ofLabels) this.#add(stem, { property, strength: "label", agentive })
      for (const [stem, agentive] of ofRelated) if (!ofLabels.has(stem)) this.#add(stem, { property, strength: "related", agentive })
    }
    for (const iri of ontology.classes.keys()) {
      for (const label of this.#labels(iri)) {
        const stems = labelKey(label).split(" ").map(language.stem)
        const [first] = stems
        if (first !== undefined && first !== "") this.#classes.set(first, [...(this.#classes.get(first) ?? []), { stems, iri }])
      }
    }
  }

  /** The properties that a word triggers; undefined if there are none. A short stem is shared by words of other meaning: `mar`, `marido`. */
  triggered(word: string): ReadonlyArray<Triggered> | undefined {
    const stem = this.#language.stem(word)
    return stem.length > shortStem || this.isWritten(word) ? this.#byStem.get(stem) : undefined
  }

  /** Whether a word is in a label or in a group of related words as it is written. */
  isWritten(word: string): boolean {
    return this.#written.has(unmarked(word))
  }

  /** Whether a noun for the class can be part of a name, in the form of the label: "Brauerei Nordlicht", but not "Film Emma". */
  isPartOfName(word: string, iri: string): boolean {
    const names = [iri, ...this.#ontology.ancestors(iri)].flatMap((one) => [...this.#ontology.names(one)].map(labelKey))
    return this.#labels(iri).some((label) => labelKey(label) === word) && names.some((name) => organisationClass.test(name))
  }

  /** The class with the longest label that begins at a word, and the last word of the label. */
  classAt(words: ReadonlyArray<string>, at: number): { readonly iri: string; readonly last: number } | undefined {
    const fitting = (this.#classes.get(this.#language.stem(words[at] ?? "")) ?? []).filter(({ stems }) =>
      stems.every((stem, index) => this.#language.stem(words[at + index] ?? "") === stem),
    )
    const [best] = fitting.toSorted((one, other) => other.stems.length - one.stems.length)
    return best === undefined ? undefined : { iri: best.iri, last: at + best.stems.length - 1 }
  }

  /** The labels in the language, and those without a language. */
  #labels(iri: string): ReadonlyArray<string> {
    const term = this.#ontology.classes.get(iri) ?? this.#ontology.properties.get(iri)
    const all = [...(term?.labels ?? []), ...(term?.alternativeLabels ?? [])]
    return all
      .filter(({ language }) => language === "" || language.split("-")[0]?.toLowerCase() === this.#language.tag)
      .map(({ text }) => text)
  }

  /** The words of a label, and the stems of those that do not merely name the kind of value. */
  #content(label: string) {
    const language = this.#language
    const words = labelKey(label)
      .split(" ")
      .flatMap((word) => [...language.parts(word.replace(/^(?:l|d)'/u, ""))])
    const isSmall = (word: string) =>
      [
        language.agents,
        language.places,
        language.genitives,
        language.definite,
        language.indefinite,
        language.prepositions,
        language.passives,
        language.perfects,
      ].some((set) => set.has(word))
    const content = words.filter((word) => word !== "" && !isSmall(word))
    const isKind = (word: string) => language.dateWords.has(word) || language.placeWords.has(word) || language.numberWords.has(word)
    const telling = content.filter((word) => !isKind(word))
    return { words, stems: (telling.length > 0 ? telling : content).map(language.stem) }
  }

  #isAgentive(label: string): boolean {
    const { agents, form } = this.#language
    const words = fold(label).split(/\s+/)
    return agents.has(words.at(-1) ?? "") || words.some((word) => form(word) === "agent")
  }

  #kind(iri: string, labels: ReadonlyArray<string>): ValueKind {
    const language = this.#language
    const words = new Set(labels.flatMap((label) => [...this.#content(label).words]))
    const has = (set: ReadonlySet<string>) => [...words].some((word) => set.has(word))
    const datatypes = this.#ontology.datatypesOf(iri)
    if (datatypes.length > 0) {
      if (datatypes.every(isDateType)) return "date"
      return datatypes.every(isNumberType) ? "number" : "text"
    }
    const range = this.#ontology.rangeOf(iri).flat()
    if (this.#ontology.properties.get(iri)?.kind === "datatype" || range.length === 0) {
      if (has(language.dateWords)) return "date"
      if (has(language.numberWords)) return "number"
      if (this.#ontology.properties.get(iri)?.kind === "datatype") return "text"
    }
    const classes = range.flatMap((one) => [one, ...this.#ontology.ancestors(one)]).flatMap((one) => [...this.#ontology.names(one)])
    return has(language.placeWords) || classes.some((name) => placeClass.test(labelKey(name))) ? "place" : "entity"
  }

  #add(stem: string, triggered: Triggered) {
    const known = this.#byStem.get(stem)
    if (known === undefined) this.#byStem.set(stem, [triggered])
    else if (!known.some(({ property }) => property.iri === triggered.property.iri)) known.push(triggered)
  }
}

/** Each stem, and whether one of its labels names an agent. */
const triggeringStems = (labels: ReadonlyArray<{ readonly stems: ReadonlyArray<string>; readonly agentive: boolean }>) => {
  const found = new Map<string, boolean>()
  for (const { stems, agentive } of labels) for (const stem of stems) found.set(stem, agentive || found.get(stem) === true)
  return found
}
