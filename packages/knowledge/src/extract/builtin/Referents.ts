/**
 * What a pronoun or "the company" at the beginning of a sentence refers to: the latest name of a fitting kind, and of several
 * the one that its sentence was about. In "Ada Sol was born in Kell. She founded Verran Lines." that is Ada Sol, not Kell.
 */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { prepositions } from "../language/FunctionWords.ts"
import { stem } from "../language/Stem.ts"
import { labelKey } from "../language/Words.ts"
import type { Place } from "./FoundFact.ts"
import { organisationWords, personWords } from "./PropertyView.ts"
import type { SentenceView } from "./SentenceView.ts"

interface Referent {
  readonly place: Place
  /** Whether its sentence was about it. */
  readonly subject: boolean
  readonly sentence: number
}

/** Older ones are forgotten, except what a sentence was about. */
const memory = 2

export class Referents {
  private readonly ontology: OntologyIndex
  private known: ReadonlyArray<Referent> = []
  private sentence = 0

  constructor(ontology: OntologyIndex, heading: Place | undefined) {
    this.ontology = ontology
    if (heading !== undefined) this.known = [{ place: heading, subject: true, sentence: 0 }]
  }

  /** What a sentence can refer to, best first; without a pronoun or such, what the last sentence was about. */
  referredTo(view: SentenceView): ReadonlyArray<Place> {
    const subjects = this.known.filter(({ subject }) => subject)
    const reference = referenceOf(view)
    if (reference === undefined) return subjects.slice(0, 1).map(({ place }) => place)
    const ranked = this.known
      .map((referent, at) => ({ referent, at, fit: this.fit(referent.place, reference) }))
      .filter(({ fit }) => fit >= 0)
      .sort((one, other) => other.fit - one.fit || Number(other.referent.subject) - Number(one.referent.subject) || one.at - other.at)
      .map(({ referent }) => referent.place)
    // A ship is "she", too.
    return ranked.length > 0 ? ranked : subjects.slice(0, 1).map(({ place }) => place)
  }

  /** Remembers a sentence: what it was about, and the other names in it. */
  note(subject: Place | undefined, others: ReadonlyArray<Place>) {
    this.sentence++
    const here = [
      ...(subject === undefined ? [] : [{ place: subject, subject: true, sentence: this.sentence }]),
      ...others.filter((place) => place.start !== subject?.start).map((place) => ({ place, subject: false, sentence: this.sentence })),
    ]
    const recent = this.known.filter((referent) => this.sentence - referent.sentence < memory)
    const lastSubject = this.known.find((referent) => referent.subject)
    this.known = [...here, ...recent, ...(lastSubject === undefined || recent.includes(lastSubject) ? [] : [lastSubject])]
  }

  /** 1 for a kind that fits, 0 for an unknown one, -1 for one that does not fit. */
  private fit(place: Place, reference: Reference): number {
    if (reference === "any") return 0
    const person = this.isPerson(place)
    if (reference === "person") return person === undefined ? 0 : person ? 1 : -1
    if (reference === "thing") return person === undefined ? 0 : person ? -1 : 1
    const words = [place.text, ...[...place.said, ...place.known].flatMap((iri) => [...this.ontology.names(iri)])].join(" ")
    return labelKey(words)
      .split(" ")
      .some((word) => stem(word) === reference.noun)
      ? 1
      : 0
  }

  private isPerson({ text, said, known }: Place): boolean | undefined {
    const classes = [...said, ...known].filter((iri) => this.ontology.classes.has(iri))
    if (classes.length > 0) {
      const all = classes.flatMap((iri) => [iri, ...this.ontology.ancestors(iri)])
      return all.some((iri) => this.ontology.names(iri).some((name) => personWords.has(stem(labelKey(name)))))
    }
    const stems = labelKey(text).split(" ").map(stem)
    if (/^the\s/i.test(text) || /\d/.test(text) || stems.some((one) => organisationWords.has(one))) return false
    return undefined
  }
}

type Reference = "person" | "thing" | "any" | { readonly noun: string }

const references: Readonly<Record<string, "person" | "thing" | "any">> = {
  he: "person",
  she: "person",
  his: "person",
  her: "person",
  it: "thing",
  its: "thing",
  this: "thing",
  they: "any",
  their: "any",
  these: "any",
}

/** "She …", "In 2012 she …", "The company …" */
const referenceOf = (view: SentenceView): Reference | undefined => {
  const { begin, words } = view
  const opening = words[begin] ?? ""
  if (opening === "the" && view.capital[begin + 1] === false && view.content[begin + 1] === true) {
    return { noun: view.stems[lastOfNoun(view, begin + 1)] ?? "" }
  }
  if (Object.hasOwn(references, opening)) return references[opening]
  if (!prepositions.has(opening) && view.content[begin] === true) return undefined
  for (let at = begin + 1; at < begin + 8; at++) {
    const word = words[at] ?? ""
    if (/^(?:he|she|it|they)$/.test(word)) return references[word]
    if (view.capital[at] && !view.dates.some((date) => date.first <= at && at <= date.last)) return undefined
  }
  return undefined
}

/** "The shipping line was": the line. */
const lastOfNoun = (view: SentenceView, first: number): number => {
  let last = first
  while (last < first + 3 && view.content[last + 1] && !view.capital[last + 1] && !/(?:ed|s)$/.test(view.words[last + 1] ?? "")) last++
  return last
}
