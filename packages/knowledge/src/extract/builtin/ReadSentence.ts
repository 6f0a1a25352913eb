/** A sentence with everything that scoring needs of it. */
import type { Span } from "../Fact.ts"
import { type Candidate, findCandidates } from "./Candidates.ts"
import { type ObjectClue, objectCluesOf, type SubjectClue, sentenceStems, subjectCluesOf } from "./Clues.ts"
import type { Gazetteer } from "./Gazetteer.ts"
import { allTraits, type ObjectTraits } from "./ObjectFeatures.ts"
import type { OntologyView } from "./OntologyView.ts"
import { type SentenceView, viewSentence } from "./SentenceView.ts"
import { placesOfLabels, type Trigger } from "./Triggers.ts"

export interface ReadSentence {
  readonly view: SentenceView
  readonly candidates: ReadonlyArray<Candidate>
  readonly traits: ReadonlyArray<ObjectTraits>
  readonly objectClues: ReadonlyArray<Readonly<Record<ObjectClue, string>>>
  readonly subjectClues: ReadonlyArray<Readonly<Record<SubjectClue, string>>>
  readonly stems: ReadonlyArray<string>
  readonly triggers: ReadonlyMap<number, ReadonlyArray<Trigger>>
}

/** Finds the places of known names among the words of a sentence. */
export type KnownNames = Pick<Gazetteer, "occurrences">

/** `spans` are places of the document that are candidates in any case. */
export const readSentence = (
  text: string,
  offset: number,
  ontology: OntologyView,
  known: KnownNames,
  spans: ReadonlyArray<Span> = [],
): ReadSentence => {
  const view = viewSentence(text, offset)
  const candidates = findCandidates(view, known, spans)
  const triggers = ontology.triggers.find(view)
  return {
    view,
    candidates,
    traits: allTraits(view, candidates, ontology.world, placesOfLabels(triggers)),
    objectClues: candidates.map((candidate) => objectCluesOf(view, candidate)),
    subjectClues: candidates.map((candidate) => subjectCluesOf(view, candidate)),
    stems: sentenceStems(view),
    triggers,
  }
}
