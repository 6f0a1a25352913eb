/** A person's decision on which mentions are one entity, in the form in which it is stored, listed and answered. */

import * as Schema from "effect/Schema"
import { Namespace } from "../storage/Identity.ts"

export const IdentityKind = Schema.Literals(["merge", "split", "different"])
export type IdentityKind = typeof IdentityKind.Type

/**
 * `pending` until the graph has the change, then `applied`. `reverting` until the graph has the change back, then `undone`. A process that
 * dies leaves a decision pending or reverting, and the next one finishes it.
 */
export const IdentityState = Schema.Literals(["pending", "applied", "reverting", "undone"])
export type IdentityState = typeof IdentityState.Type

export const IdentityDecision = Schema.Struct({
  /** Counts up: a later decision on a mention overrides an earlier one. */
  id: Schema.Int,
  namespace: Namespace,
  kind: IdentityKind,
  /** `merge`: the entity that stays, and the one that became it. `split`: the entity, and those that were taken out of it. */
  entities: Schema.Array(Schema.String),
  /** How many mentions it decides. */
  mentions: Schema.Int,
  state: IdentityState,
  by: Schema.String,
  /** In milliseconds. */
  at: Schema.Int,
  reason: Schema.optionalKey(Schema.String),
  undoneBy: Schema.optionalKey(Schema.String),
  undoneAt: Schema.optionalKey(Schema.Int),
})
export type IdentityDecision = typeof IdentityDecision.Type
