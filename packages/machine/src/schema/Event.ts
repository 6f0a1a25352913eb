/**
 * `Event` declares the events of a machine. An event made with `Event.reply` is a question: every transition on it must
 * answer with a value of the reply's schema.
 *
 * ```ts
 * const E = Event({
 *   Pay: { transactionId: Schema.String },
 *   GetTotal: Event.reply({}, Schema.Number),
 * })
 * ```
 */
import { checkBySchema } from "./EffectSchema.ts"
import type { FieldSchema, Fields, TypeOf } from "./FieldSchema.ts"
import { sensitive } from "./Sensitive.ts"
import {
  type Definitions,
  type Given,
  GroupDefinition,
  type Members,
  type MustBe,
  makeUnion,
  ReplyDefinition,
  type Union,
} from "./Union.ts"
import type { EffectCheck } from "./ValueCheck.ts"

/** The events of a machine. */
export type Event<D> = Members<D> & Union<D>

export interface MakeEvent {
  <const D extends Given>(definitions: D & MustBe<Fields | ReplyDefinition<Fields, unknown>, D>): Event<D>
  /** Names a set of events: one transition can be taken on any of them. */
  group<const D extends Given>(members: D & MustBe<Fields | ReplyDefinition<Fields, unknown>, D>): GroupDefinition<D>
  /** An event that is answered. */
  reply<const F extends Fields, R extends FieldSchema>(fields: F, reply: R): ReplyDefinition<F, TypeOf<R>>
  /** Marks a value that must not appear in views, diagrams, traces and logs, wherever its schema stands. */
  readonly sensitive: typeof sensitive
}

/** `Event` with a check of the fields that have schemas of Effect. */
export const eventWith = (checkEffect: EffectCheck): MakeEvent =>
  Object.assign((definitions: Given) => makeUnion(definitions as Definitions, checkEffect) as never, {
    group: <const D>(members: D) => new GroupDefinition(members, undefined),
    reply: <const F extends Fields, R extends FieldSchema>(fields: F, reply: R) => new ReplyDefinition<F, TypeOf<R>>(fields, reply),
    sensitive,
  })

export const Event: MakeEvent = /* @__PURE__ */ eventWith(checkBySchema)
