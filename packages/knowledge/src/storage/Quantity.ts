/** Non-negative integers: sizes, counts, versions, positions. */
import * as Schema from "effect/Schema"

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
export type Count = typeof Count.Type

/** A confidence score from 0 to 1. */
export const Confidence = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
export type Confidence = typeof Confidence.Type
