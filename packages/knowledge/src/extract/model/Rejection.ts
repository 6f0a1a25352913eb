/** What a model said that was not taken, and why. Counted, so that a model that makes things up is found out. */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

export type RejectionReason =
  /** Not of the form that was asked for. */
  | "Malformed"
  /** The words are not in the text. */
  | "QuoteNotFound"
  | "UnknownClass"
  | "UnknownProperty"
  | "UnknownEntity"
  /** The property does not hold of such a subject, or does not lead to such an object. */
  | "DomainMismatch"
  | "RangeMismatch"
  /** Not written as the datatype demands, or not what the text says. */
  | "InvalidValue"

export interface Rejection {
  readonly of: "entity" | "fact"
  readonly reason: RejectionReason
  /** What the model said. */
  readonly said: string
}

export const rejectionOf = (of: Rejection["of"], reason: RejectionReason, said: unknown): Rejection => ({
  of,
  reason,
  said: JSON.stringify(said)?.slice(0, 300) ?? "",
})

/** By extractor and reason. */
export const rejectedCounter = Metric.counter("detent_extraction_rejected", {
  description: "What extractors said and was not taken",
  incremental: true,
})

export const countRejections = (extractor: string, rejections: ReadonlyArray<Rejection>): Effect.Effect<void> =>
  Effect.forEach(rejections, ({ of, reason }) => Metric.update(Metric.withAttributes(rejectedCounter, { extractor, of, reason }), 1), {
    discard: true,
  })
