/** The type of every machine, and types that are derived from it. */
import type { TagOf } from "../schema/Union.ts"
import type { Blueprint } from "./Blueprint.ts"

/** The common type of all machines: enough to run, draw or test one. */
export interface Definition<out S, out E, in I, out R, out Left = never> {
  readonly name: string
  readonly version: number
  /** The structure as data. */
  readonly blueprint: Blueprint
  /** Slots that `build` has not filled yet; types only. */
  readonly "slots left out of build": Left
  readonly "~types": {
    readonly state: S
    readonly event: E
    readonly input: (input: I) => void
    readonly services: R
  }
}

/** The states of a machine. */
export type StateOf<M> = M extends { readonly "~types": { readonly state: infer S } } ? S : never
/** The events of a machine. */
export type EventOf<M> = M extends { readonly "~types": { readonly event: infer E } } ? E : never
/** The input of a new instance. */
export type InputOf<M> = M extends { readonly "~types": { readonly input: (input: infer I) => void } } ? I : never
/** The services a machine's work needs. */
export type ServicesOf<M> = M extends { readonly "~types": { readonly services: infer R } } ? R : never

type Specific<T, S extends string, E extends string> = T extends `${S} × ${E} → ${infer To}` ? To : never

type Resolved<To, S> = To extends "(stay)" ? S : To extends "(stop)" ? never : To

interface Known {
  readonly "~edges": string
  readonly "~handled": string
}

/** A fallback applies where the state has no transition for the event and is not final. */
type HasFallback<M extends Known, S extends string, E extends string> = [Extract<M["~handled"], `${S} × ${E}` | `${S} × (final)`>] extends [
  never,
]
  ? true
  : false

type TargetTag<M extends Known, S extends string, E extends string> =
  | Specific<M["~edges"], S, E>
  | (HasFallback<M, S, E> extends true ? Specific<M["~edges"], "*", E> : never)

/** The tags of the states that event `E` can lead to from state `S`; `never` where it is not handled. */
export type TargetOf<M extends Known, S extends TagOf<StateOf<M>>, E extends TagOf<EventOf<M>>> = Resolved<TargetTag<M, S, E>, S>

/** Whether an event can be taken in a state: `true` or `false`, for use in signatures. */
export type ValidTransition<M extends Known, S extends TagOf<StateOf<M>>, E extends TagOf<EventOf<M>>> = [TargetTag<M, S, E>] extends [
  never,
]
  ? false
  : true

/** The events a state handles. */
export type EventsIn<M extends { readonly "~edges": string }, S extends TagOf<StateOf<M>>> = Extract<
  EventOf<M>,
  { readonly _tag: M["~edges"] extends infer T ? (T extends `${S | "*"} × ${infer E} → ${string}` ? E : never) : never }
>
