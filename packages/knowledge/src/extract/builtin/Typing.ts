/**
 * Which class an entity is of: what the property asks for, made more special where the text says so ("Emma is a novel",
 * "the novelist Jane Austen"), or what is known of the name beforehand.
 */

import type { ClassExpression } from "../../ontology/Ontology.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { withoutPlural } from "../language/Stem.ts"
import { isVerbLike } from "../language/Verbs.ts"
import { labelKey } from "../language/Words.ts"
import type { Candidate } from "./Candidates.ts"
import type { Gazetteer } from "./Gazetteer.ts"
import { classesMeeting } from "./OntologyView.ts"
import { type SentenceView, viewSentence } from "./SentenceView.ts"

/** A class label that stands in a sentence. */
interface NamedClass {
  readonly iri: string
  readonly first: number
  readonly last: number
}

export class ClassLabels {
  private readonly byFirstWord = new Map<string, Array<{ readonly words: ReadonlyArray<string>; readonly iri: string }>>()
  private readonly ontology: OntologyIndex

  constructor(ontology: OntologyIndex) {
    this.ontology = ontology
    for (const iri of ontology.classes.keys()) {
      for (const name of ontology.names(iri)) {
        const words = labelKey(name).split(" ").map(withoutPlural)
        const [first] = words
        if (first === undefined || first === "") continue
        const known = this.byFirstWord.get(first)
        if (known === undefined) this.byFirstWord.set(first, [{ words, iri }])
        else known.push({ words, iri })
      }
    }
  }

  /** Where the sentence states something; "if it is a novel" makes nothing a novel. */
  find(view: SentenceView): ReadonlyArray<NamedClass> {
    const singular = view.words.map(withoutPlural)
    return singular.flatMap((first, at) =>
      (this.byFirstWord.get(first) ?? []).flatMap(({ words, iri }) =>
        view.clauses.stated[at] && words.every((one, index) => singular[at + index] === one)
          ? [{ iri, first: at, last: at + words.length - 1 }]
          : [],
      ),
    )
  }

  /** The classes the text itself names for a candidate, the most telling first, and last those its own name names. */
  saidOf(view: SentenceView, candidate: Candidate, found: ReadonlyArray<NamedClass>): ReadonlyArray<string> {
    const predicate = predicateOf(view, candidate.last)
    const said = found.filter(
      ({ first, last }) =>
        isApposition(view, candidate, first, last) ||
        (predicate !== undefined && first >= predicate[0] && last <= predicate[1] && isHead(view, last)),
    )
    const inName = found.filter(
      ({ first, last }) =>
        view.capital[first] && (first === candidate.first || last === candidate.last) && first >= candidate.first && last <= candidate.last,
    )
    return [...said.toSorted(moreTelling), ...inName.toSorted(moreTelling)].map(({ iri }) => iri)
  }

  /** The classes that a name names: "Sor Observatory". */
  inName(name: string): ReadonlyArray<string> {
    const view = viewSentence(name)
    return this.find(view)
      .filter(({ first, last }) => view.capital[first] && (first === 0 || last === view.words.length - 1))
      .map(({ iri }) => iri)
  }

  /** The class for an entity that has to meet an expression. */
  meeting(expression: ClassExpression, said: ReadonlyArray<string>, known: ReadonlyArray<string>): string | undefined {
    const meets = (iri: string) => expression.every((members) => members.some((member) => this.ontology.isA(iri, member)))
    return [...said, ...known].find((iri) => this.ontology.classes.has(iri) && meets(iri)) ?? classesMeeting(this.ontology, expression)[0]
  }
}

/** In "a film director" the film is not what is spoken of. */
const isHead = (view: SentenceView, last: number): boolean => !view.content[last + 1] || isVerbLike(view.words[last + 1] ?? "")

/** "comedy film": the longer label says more, and of equally long ones the later is the head. */
const moreTelling = (one: NamedClass, other: NamedClass): number =>
  other.last - other.first - (one.last - one.first) || other.last - one.last

export const knownTypes = (gazetteer: Gazetteer | undefined, view: SentenceView, { first, last }: Candidate): ReadonlyArray<string> =>
  gazetteer?.typesOf(view.words.slice(first, last + 1)) ?? []

/** "the novelist Jane Austen", "Jane Austen, novelist" */
const isApposition = (view: SentenceView, candidate: Candidate, first: number, last: number): boolean => {
  if (last === candidate.first - 1) return !view.capital[last]
  const from = view.words[candidate.last + 1] === "," ? candidate.last + 2 : -1
  return from !== -1 && (first === from || (first === from + 1 && /^(?:a|an|the)$/.test(view.words[from] ?? "")))
}

const longestPredicate = 12

/** The tokens of "a novel" in "Emma (1815) is a novel by …". */
const predicateOf = (view: SentenceView, last: number): readonly [number, number] | undefined => {
  let at = /^["”»]$/.test(view.words[last + 1] ?? "") ? last + 2 : last + 1
  if (view.words[at] === "(") {
    const depth = view.depth[at] ?? 0
    at++
    while (at < view.words.length && ((view.depth[at] ?? 0) > depth || view.words[at] === ")")) at++
  }
  if (!/^(?:is|was|are|were)$/.test(view.words[at] ?? "") || !/^(?:a|an|the|one)$/.test(view.words[at + 1] ?? "")) return undefined
  let end = at + 2
  while (
    end < view.words.length &&
    end < at + longestPredicate &&
    !/^(?:of|by|in|that|which|who|from|for|and|,|;|\.)$/.test(view.words[end] ?? "")
  )
    end++
  return [at + 2, end - 1]
}
