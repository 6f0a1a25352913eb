/** Facts that are sure enough go into the graph, the others before somebody's eyes. */
import type { Fact } from "../Fact.ts"

export interface SplitFacts {
  readonly accepted: ReadonlyArray<Fact>
  readonly review: ReadonlyArray<Fact>
}

/** A fact is as sure as the least sure of itself, its subject and its object. */
export const splitByConfidence = (facts: ReadonlyArray<Fact>, threshold: number): SplitFacts => {
  const accepted: Array<Fact> = []
  const review: Array<Fact> = []
  for (const fact of facts) (sureness(fact) >= threshold ? accepted : review).push(fact)
  return { accepted, review }
}

const sureness = ({ subject, object, confidence }: Fact): number =>
  Math.min(confidence, subject.confidence, object._tag === "Entity" ? object.mention.confidence : 1)
