/**
 * The compile-time checks of a declaration. Each check is `unknown` where it holds, and otherwise a type whose only property
 * is the message that the compiler shows.
 */
import type * as Effect from "effect/Effect"
import type { Refuse, Reply, Stay, Stop } from "../decision/Outcome.ts"
import type { Answered, TagOf } from "../schema/Union.ts"

/** Any array. Checking 20 machines took 0.83 s of CPU with this, and 0.88 s with `ReadonlyArray`. */
interface Many<out V> {
  at(index: number): V | undefined
}

export type OneOrMany<V> = V | Many<V>

export type Pair<F extends { readonly tag: string }, V extends { readonly tag: string }> = `${F["tag"]} × ${V["tag"]}`

/** The state that a target without a decision enters: of a group, its initial member. */
export type Entered<To> = To extends { readonly "~initial": { readonly Type: infer T } }
  ? T
  : To extends { readonly Type: infer T }
    ? T
    : never

export type FinalPair<F extends { readonly tag: string }> = `${F["tag"]} × (final)`

export type Edge<P extends string, T extends { readonly tag: string }> = `${P} → ${T["tag"]}`

/** Refuses transitions of final states, except those that only answer a question. */
export type FinalPairOf<F extends { readonly tag: string }, V, T> = [WantsAnswer<V>] extends [never]
  ? FinalPair<F>
  : [T] extends [Stay]
    ? never
    : FinalPair<F>

/** The pairs must be new. */
export type MustBeNew<P, H> = [Extract<P, H>] extends [never]
  ? unknown
  : { readonly "already declared (replace it with { override: true }), or final": Extract<P, H> }

/** With `override` or `fallThrough` the pairs must exist, otherwise they must be new. */
export type MustFit<P, Final, H, O> = true extends O ? MustExist<P, H> : MustBeNew<P | Final, H>

/** The edges that remain beside a new declaration of the pairs `P`. */
export type Kept<T extends string, P extends string, O> = O extends true ? Exclude<T, `${P} → ${string}`> : T

type MustExist<P, H> = [Exclude<P, H>] extends [never] ? unknown : { readonly "nothing to override or to fall through to": Exclude<P, H> }

/** Fields of `T` that neither the event nor the state carries over with a fitting type. */
type NotCarried<F, V, T> = {
  [K in Exclude<keyof T, "_tag">]: K extends keyof V
    ? [V[K]] extends [T[K]]
      ? never
      : K
    : K extends keyof F
      ? [F[K]] extends [T[K]]
        ? never
        : K
      : undefined extends T[K]
        ? never
        : K
}[Exclude<keyof T, "_tag">]

/** The fields that are not carried over by at least one pair of a state and an event. */
type NotCarriedByAll<F, V, T> = F extends unknown ? (V extends unknown ? NotCarried<F, V, T> : never) : never

type WantsAnswer<V> = V extends unknown ? keyof V & "~answer" : never

export type MustCarry<F, V, T> = [WantsAnswer<V>] extends [never]
  ? T extends Stay | Stop
    ? unknown
    : [NotCarriedByAll<F, V, T>] extends [never]
      ? unknown
      : { readonly "fields neither carried nor given": NotCarriedByAll<F, V, T> }
  : { readonly "this event requires an answer: pass a decision that returns reply(...)": true }

/** Each of several states can be entered again with its own fields and the event's. */
export type MustCarryBack<F, V> = [WantsAnswer<V>] extends [never]
  ? [F extends unknown ? NotCarriedByAll<F, V, F> : never] extends [never]
    ? unknown
    : { readonly "fields neither carried nor given": F extends unknown ? NotCarriedByAll<F, V, F> : never }
  : { readonly "this event requires an answer: pass a decision that returns reply(...)": true }

/** A decision that reenters several states must be able to return each of them. */
export type MustReturnEach<F, To> = [To] extends [never]
  ? unknown
  : [Exclude<TagOf<F>, TagOf<To>>] extends [never]
    ? unknown
    : { readonly "reenter keeps the state, and the decision never returns": Exclude<TagOf<F>, TagOf<To>> }

/** One answer for several questions must be an answer to each. */
type AnswerTo<V> = (V extends Answered<infer A> ? (keyof V & "~answer" extends never ? never : (answer: A) => void) : never) extends (
  answer: infer A,
) => void
  ? A
  : never

/** The values that a decision may return when its transition declares the targets `T`. */
type Allowed<T, V> = [WantsAnswer<V>] extends [never] ? T | Refuse : Reply<AnswerTo<V>, T> | Refuse

export type Decided<To, V, R> = Allowed<To, V> | Effect.Effect<Allowed<To, V>, unknown, R>

/** The states among the values that a decision returns. */
export type StateDecided<X> = X extends Refuse
  ? never
  : X extends Reply<unknown, infer To>
    ? To
    : X extends Effect.Effect<infer A, unknown, unknown>
      ? StateDecided<A>
      : X

export type ServicesDecided<X> = X extends Effect.Effect<unknown, unknown, infer R> ? R : never

export type Fallback<V extends { readonly tag: string }> = `* × ${V["tag"]}`

export type HandledTags<H> = H extends `${string} × ${infer Tag}` ? Tag : never

export type NoOthers<B, Slots> = { readonly [N in Exclude<keyof B, keyof Slots>]: "there is no slot of this name" }
