/**
 * `State` declares the states of a machine: a tagged union whose variants are constructors.
 *
 * ```ts
 * const S = State({
 *   Pending: { orderId: Schema.String },
 *   Fulfilling: State.group({ Picking: { orderId: Schema.String }, Packing: { orderId: Schema.String } }),
 *   Cancelled: { orderId: Schema.String, reason: Schema.String },
 * })
 * const state = S.Cancelled.derive(S.Pending({ orderId: "7" }), { reason: "changed my mind" })
 * ```
 */
import { sensitive } from "./Sensitive.ts"
import { GroupDefinition, type Members, makeUnion, type Union, type Definitions as UnionDefinitions } from "./Union.ts"
import type { Fields } from "./Variant.ts"

/** States by name, some of them in groups. */
export interface Definitions extends UnionDefinitions {
  readonly [name: string]: Fields | GroupDefinition<Definitions>
}

/** The states of a machine. */
export type State<D> = Members<D> & Union<D>

export const State: {
  <const D extends Definitions>(definitions: D): State<D>
  /** Names a set of states: one transition, diagram box or test can cover all of them. */
  group<const D extends Definitions>(members: D): GroupDefinition<D>
  /** Marks a value that must not appear in views, diagrams, traces and logs, wherever its schema stands. */
  readonly sensitive: typeof sensitive
} = Object.assign((definitions: Definitions) => makeUnion(definitions) as never, {
  group: <const D extends Definitions>(members: D) => new GroupDefinition(members),
  sensitive,
})
