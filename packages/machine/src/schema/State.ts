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
import { checkBySchema } from "./EffectSchema.ts"
import type { Fields } from "./FieldSchema.ts"
import { sensitive } from "./Sensitive.ts"
import {
  type Given,
  GroupDefinition,
  type Members,
  type MustBe,
  makeUnion,
  type Union,
  type Definitions as UnionDefinitions,
} from "./Union.ts"
import type { EffectCheck } from "./ValueCheck.ts"

/** States by name, some of them in groups. */
export interface Definitions extends UnionDefinitions {
  readonly [name: string]: Fields | GroupDefinition<Definitions>
}

/** The states of a machine. */
export type State<D> = Members<D> & Union<D>

export interface MakeState {
  <const D extends Given>(definitions: D & MustBe<Fields, D>): State<D>
  /**
   * Names a set of states: one transition, diagram box or test can cover all of them, and hooks, work and timers can belong to the
   * group as a whole. With `initial`, the group can be a target: it is entered at that member.
   */
  group<const D extends Given, const I extends (keyof D & string) | undefined = undefined>(
    members: D & MustBe<Fields, D>,
    options?: { readonly initial: I },
  ): GroupDefinition<D, I>
  /** Marks a value that must not appear in views, diagrams, traces and logs, wherever its schema stands. */
  readonly sensitive: typeof sensitive
}

/** `State` with a check of the fields that have schemas of Effect. */
export const stateWith = (checkEffect: EffectCheck): MakeState =>
  Object.assign((definitions: Given) => makeUnion(definitions as Definitions, checkEffect) as never, {
    group: <const D, const I>(members: D, options?: { readonly initial: I }) => new GroupDefinition(members, options?.initial as I),
    sensitive,
  })

export const State: MakeState = /* @__PURE__ */ stateWith(checkBySchema)
