/**
 * The types a definition is written in: what `.on` and its siblings take, what they check, and what the finished
 * machine tells its users.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Blueprint } from "./Blueprint.ts"
import type { CommandSettings } from "./CommandSettings.ts"
import type { Refuse, Reply, Stay, Stop } from "./Outcome.ts"
import type { Persistence } from "./Persistence.ts"
import type { Self } from "./Self.ts"
import type { HandlerServices } from "./Slot.ts"
import type { Answered, TagOf } from "./Union.ts"
import type { Source } from "./Variant.ts"

/** What every machine is, whatever it declares: enough to run, draw or test it. */
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

/** The slots of a machine, as its functions see them. */
export interface SlotTypes {
  readonly guards: object
  readonly requests: object
  readonly runs: object
  readonly handlers: object
  readonly left: string
}

/** A leaf state, `stay` or `stop`: where a transition can lead. */
export interface Target<out T> {
  readonly Type: T
  readonly tag: string
  /** A group is no target: no instance is ever in a group itself. */
  readonly group?: "a group is no target: name one of its states"
}

/** Any array. Checking 20 machines took 0.83 s of CPU with this, and 0.88 s with `ReadonlyArray`. */
interface Many<out V> {
  at(index: number): V | undefined
}

type OneOrMany<V> = V | Many<V>

type Pair<F extends { readonly tag: string }, V extends { readonly tag: string }> = `${F["tag"]} × ${V["tag"]}`

type FinalPair<F extends { readonly tag: string }> = `${F["tag"]} × (final)`

type Edge<P extends string, T extends { readonly tag: string }> = `${P} → ${T["tag"]}`

/** Unless the pairs are new, a type that no argument has and whose only property is the message. */
type MustBeNew<P, H> = [Extract<P, H>] extends [never]
  ? unknown
  : { readonly "already declared (replace it with { override: true }), or final": Extract<P, H> }

/** What an override replaces must be there; anything else must be new. */
type MustFit<P, Final, H, O> = O extends true ? MustExist<P, H> : MustBeNew<P | Final, H>

/** The edges that stand beside a new declaration of the pairs `P`. */
type Kept<T extends string, P extends string, O> = O extends true ? Exclude<T, `${P} → ${string}`> : T

type MustExist<P, H> = [Exclude<P, H>] extends [never] ? unknown : { readonly "nothing to override": Exclude<P, H> }

/** Fields of `T` that neither the event nor the state carries over with a fitting type. */
type NotCarried<F, V, T> = {
  [K in Exclude<keyof T, "_tag">]: K extends keyof V
    ? V[K] extends T[K]
      ? never
      : K
    : K extends keyof F
      ? F[K] extends T[K]
        ? never
        : K
      : undefined extends T[K]
        ? never
        : K
}[Exclude<keyof T, "_tag">]

/** The same for every pair of a state and an event among several. */
type NotCarriedByAll<F, V, T> = F extends unknown ? (V extends unknown ? NotCarried<F, V, T> : never) : never

type WantsAnswer<V> = V extends unknown ? keyof V & "~answer" : never

type MustCarry<F, V, T> = [WantsAnswer<V>] extends [never]
  ? T extends Stay | Stop
    ? unknown
    : [NotCarriedByAll<F, V, T>] extends [never]
      ? unknown
      : { readonly "fields neither carried nor given": NotCarriedByAll<F, V, T> }
  : { readonly "this event wants an answer: pass a decision that returns reply(...)": true }

/** Each of several states can be entered again with its own fields and the event's. */
type MustCarryBack<F, V> = [WantsAnswer<V>] extends [never]
  ? [F extends unknown ? NotCarriedByAll<F, V, F> : never] extends [never]
    ? unknown
    : { readonly "fields neither carried nor given": F extends unknown ? NotCarriedByAll<F, V, F> : never }
  : { readonly "this event wants an answer: pass a decision that returns reply(...)": true }

/** A decision that enters several states again returns each of them: one that cannot would lead from one to another. */
type MustReturnEach<F, To> = [To] extends [never]
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

/** What a decision may return when its transition declares the targets `T`. */
type Allowed<T, V> = [WantsAnswer<V>] extends [never] ? T | Refuse : Reply<AnswerTo<V>, T> | Refuse

/** What a decision is made from. It is a pure function of this. */
export interface DecisionContext<S, V, E, K extends SlotTypes> {
  readonly state: S
  readonly event: V
  /** When the event was accepted, in milliseconds since 1970: the same in every replay. */
  readonly at: number
  readonly guards: K["guards"]
  /** Calling one requests it: it is carried out after the transition is committed. */
  readonly effects: K["requests"]
  /** `send` hands the machine an event that it handles right after this one. */
  readonly self: { readonly send: (event: E) => void }
}

/** How a transition is decided on. An Effect is allowed where a decision must ask someone; it delays what follows. */
export type Decide<S, V, To, E, K extends SlotTypes, R> = (context: DecisionContext<S, V, E, K>) => Decided<To, V, R>

type Decided<To, V, R> = Allowed<To, V> | Effect.Effect<Allowed<To, V>, unknown, R>

/** The states among what a decision returns. */
type StateDecided<X> = X extends Refuse
  ? never
  : X extends Reply<unknown, infer To>
    ? To
    : X extends Effect.Effect<infer A, unknown, unknown>
      ? StateDecided<A>
      : X

type ServicesDecided<X> = X extends Effect.Effect<unknown, unknown, infer R> ? R : never

/** What `enter` and `exit` are told. */
export interface HookContext<S, All, E, K extends SlotTypes> {
  readonly state: S
  /** The state on the other side: the one left for `enter`, the one reached for `exit`. None at the start and the end. */
  readonly other: All | undefined
  readonly event: E | undefined
  readonly at: number
  readonly effects: K["requests"]
  readonly self: { readonly send: (event: E) => void }
}

/** What work that runs while a state lasts is given. */
export interface WorkContext<S, E, K extends SlotTypes> {
  readonly id: string
  readonly state: S
  readonly effects: K["runs"]
  readonly self: Self<E>
}

/** Options of one transition. */
export interface TransitionOptions<S, V, E, K extends SlotTypes, O = undefined> {
  /** The event is refused where this says no. A text names the guard in diagrams and errors. */
  readonly guard?: (context: DecisionContext<S, V, E, K>) => boolean
  readonly guardName?: string
  readonly description?: string
  /** Replaces what was declared for the same state and event before. */
  readonly override?: O
}

export interface TimeoutOptions<N extends string, O = undefined> {
  /** Needed where a state has more than one. */
  readonly name?: N
  /** An idle timeout starts anew with every event; otherwise the time since the state was entered counts. */
  readonly idle?: boolean
  /** Replaces the timeout of the same state and name. */
  readonly override?: O
}

/** How a work that ends becomes an event. */
export interface TaskOutcomes<A, X, S, E> {
  readonly onSuccess: (value: A, context: { readonly state: S }) => E
  readonly onFailure: (error: X, context: { readonly state: S }) => E
}

type Fallback<V extends { readonly tag: string }> = `* × ${V["tag"]}`

type HandledTags<H> = H extends `${string} × ${infer Tag}` ? Tag : never

/**
 * A machine while it is written, and once it is done. Every method returns a new one.
 *
 * @template S the union of states
 * @template E the union of events
 * @template K the slots
 * @template H the pairs of state and event that are declared
 * @template T the edges: pair and target
 * @template I the input the initial state is made from
 * @template R the services its work needs
 */
export interface Machine<S, E, K extends SlotTypes, H extends string, T extends string, I, R> extends Definition<S, E, I, R, K["left"]> {
  readonly "~edges": T
  readonly "~handled": H

  /** The transition whose target takes all its fields from the event and the state. */
  on<F extends Source<S>, V extends Source<E>, To extends Target<S | Stay | Stop>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V>,
    to: To & MustCarry<F["Type"], V["Type"], To["Type"]>,
  ): Machine<S, E, K, H | Pair<F, V>, T | Edge<Pair<F, V>, To>, I, R>
  on<F extends Source<S>, V extends Source<E>, To extends Target<S | Stay | Stop>, O extends true | undefined = undefined>(
    from: OneOrMany<F> & MustFit<Pair<F, V>, FinalPair<F>, H, O>,
    event: OneOrMany<V>,
    to: To & MustCarry<F["Type"], V["Type"], To["Type"]>,
    options: TransitionOptions<F["Type"], V["Type"], E, K, O>,
  ): Machine<S, E, K, H | Pair<F, V>, Kept<T, Pair<F, V>, O> | Edge<Pair<F, V>, To>, I, R>
  /** The transition that is decided on: `to` lists every state the decision may return. */
  on<F extends Source<S>, V extends Source<E>, To extends Target<S | Stay | Stop>, R2 = never, O extends true | undefined = undefined>(
    from: OneOrMany<F> & MustFit<Pair<F, V>, FinalPair<F>, H, O>,
    event: OneOrMany<V>,
    to: OneOrMany<To>,
    decide: Decide<F["Type"], V["Type"], To["Type"], E, K, R2>,
    options?: TransitionOptions<F["Type"], V["Type"], E, K, O>,
  ): Machine<S, E, K, H | Pair<F, V>, Kept<T, Pair<F, V>, O> | Edge<Pair<F, V>, To>, I, R | R2>

  /** Leaves the state and enters it again: its work and its timers start anew. */
  reenter<F extends Source<S>, V extends Source<E>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V> & MustCarryBack<F["Type"], V["Type"]>,
  ): Machine<S, E, K, H | Pair<F, V>, T | Edge<Pair<F, V>, F>, I, R>
  reenter<F extends Source<S>, V extends Source<E>, X extends Decided<F["Type"], V["Type"], unknown>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V>,
    decide: ((context: DecisionContext<F["Type"], V["Type"], E, K>) => X) & MustReturnEach<F["Type"], StateDecided<X>>,
    options?: TransitionOptions<F["Type"], V["Type"], E, K>,
  ): Machine<S, E, K, H | Pair<F, V>, T | Edge<Pair<F, V>, F>, I, R | ServicesDecided<X>>

  /** What happens on an event in every state that says nothing of it itself and is not final. */
  onAny<V extends Source<E>, To extends Target<S | Stay | Stop>>(
    event: OneOrMany<V> & MustBeNew<Fallback<V>, H>,
    to: To & MustCarry<S, V["Type"], To["Type"]>,
  ): Machine<S, E, K, H | Fallback<V>, T | Edge<Fallback<V>, To>, I, R>
  onAny<V extends Source<E>, To extends Target<S | Stay | Stop>, R2 = never>(
    event: OneOrMany<V> & MustBeNew<Fallback<V>, H>,
    to: OneOrMany<To>,
    decide: Decide<S, V["Type"], To["Type"], E, K, R2>,
    options?: TransitionOptions<S, V["Type"], E, K>,
  ): Machine<S, E, K, H | Fallback<V>, T | Edge<Fallback<V>, To>, I, R | R2>

  /** Keeps the event until the next state change and handles it then. */
  postpone<F extends Source<S>, V extends Source<E>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V>,
  ): Machine<S, E, K, H | Pair<F, V>, T, I, R>

  /** A transition taken by itself as soon as its guard holds; checked in declaration order after every decision. */
  always<F extends Source<S>, To extends Target<S | Stop>>(
    from: OneOrMany<F> & MustBeNew<FinalPair<F>, H>,
    guard: (context: Omit<DecisionContext<F["Type"], E | undefined, E, K>, "effects" | "self">) => boolean,
    to: To & MustCarry<F["Type"], unknown, To["Type"]>,
  ): Machine<S, E, K, H | `${F["tag"]} × (always)`, T | `${F["tag"]} × (always) → ${To["tag"]}`, I, R>
  always<F extends Source<S>, To extends Target<S | Stop>>(
    from: OneOrMany<F> & MustBeNew<FinalPair<F>, H>,
    guard: (context: Omit<DecisionContext<F["Type"], E | undefined, E, K>, "effects" | "self">) => boolean,
    to: OneOrMany<To>,
    decide: (context: DecisionContext<F["Type"], E | undefined, E, K>) => To["Type"],
  ): Machine<S, E, K, H | `${F["tag"]} × (always)`, T | `${F["tag"]} × (always) → ${To["tag"]}`, I, R>

  /** What happens when a state has lasted, or been idle, for a while. */
  timeout<
    F extends Source<S>,
    To extends Target<S | Stay | Stop>,
    const N extends string = "timeout",
    O extends true | undefined = undefined,
  >(
    from: OneOrMany<F> & MustFit<`${F["tag"]} × (${N})`, FinalPair<F>, H, O>,
    after: Duration.Input | ((state: F["Type"]) => Duration.Input),
    to: OneOrMany<To>,
    decide: (context: DecisionContext<F["Type"], undefined, E, K>) => To["Type"] | Refuse,
    options?: TimeoutOptions<N, O>,
  ): Machine<S, E, K, H | `${F["tag"]} × (${N})`, Kept<T, `${F["tag"]} × (${N})`, O> | `${F["tag"]} × (${N}) → ${To["tag"]}`, I, R>
  timeout<
    F extends Source<S>,
    To extends Target<S | Stay | Stop>,
    const N extends string = "timeout",
    O extends true | undefined = undefined,
  >(
    from: OneOrMany<F> & MustFit<`${F["tag"]} × (${N})`, FinalPair<F>, H, O>,
    after: Duration.Input | ((state: F["Type"]) => Duration.Input),
    to: To & MustCarry<F["Type"], unknown, To["Type"]>,
    options?: TimeoutOptions<N, O>,
  ): Machine<S, E, K, H | `${F["tag"]} × (${N})`, Kept<T, `${F["tag"]} × (${N})`, O> | `${F["tag"]} × (${N}) → ${To["tag"]}`, I, R>

  /** Runs on entering. What it requests is stored with the transition; an Effect it returns runs after it. */
  enter<F extends Source<S>, R2 = never>(
    state: OneOrMany<F>,
    hook: (context: HookContext<F["Type"], S, E, K>) => void | Effect.Effect<unknown, unknown, R2>,
  ): Machine<S, E, K, H, T, I, R | R2>
  /** Runs on leaving, under the same rules as `enter`. */
  exit<F extends Source<S>, R2 = never>(
    state: OneOrMany<F>,
    hook: (context: HookContext<F["Type"], S, E, K>) => void | Effect.Effect<unknown, unknown, R2>,
  ): Machine<S, E, K, H, T, I, R | R2>

  /** Work that runs while the state lasts and is interrupted when it is left. If it fails, the actor fails. */
  spawn<F extends Source<S>, R2 = never>(
    state: OneOrMany<F>,
    work: (context: WorkContext<F["Type"], E, K>) => Effect.Effect<unknown, unknown, R2>,
  ): Machine<S, E, K, H, T, I, R | R2>
  /** Like `spawn`, with an event for either way it can end. */
  task<F extends Source<S>, A, X, R2 = never>(
    state: OneOrMany<F>,
    work: (context: WorkContext<F["Type"], E, K>) => Effect.Effect<A, X, R2>,
    outcomes: TaskOutcomes<A, X, F["Type"], E>,
  ): Machine<S, E, K, H, T, I, R | R2>
  /** Work that runs as long as the actor does. */
  background<R2 = never>(
    work: (context: Omit<WorkContext<S, E, K>, "state">) => Effect.Effect<unknown, unknown, R2>,
  ): Machine<S, E, K, H, T, I, R | R2>

  /** States in which an instance has reached its end. */
  final<F extends Source<S>>(
    ...states: ReadonlyArray<F> & MustBeNew<Extract<H, `${F["tag"]} × ${string}`>, H>
  ): Machine<S, E, K, H | FinalPair<F>, T, I, R>

  /** Declares that every event is handled by some state; the compiler names those that are not. */
  total(
    this: [Exclude<TagOf<E>, HandledTags<H>>] extends [never]
      ? Machine<S, E, K, H, T, I, R>
      : { readonly "events no state handles": Exclude<TagOf<E>, HandledTags<H>> },
  ): Machine<S, E, K, H, T, I, R>

  /** How a durable engine keeps instances. In memory it has no effect. */
  persist(options: Persistence<TagOf<S>>): Machine<S, E, K, H, T, I, R>

  /** How requested effects are carried out, and which events follow from their results. Said again, it adds to what was said. */
  commands(settings: CommandSettings<K["runs"], E>): Machine<S, E, K, H, T, I, R>

  /** Fills the slots. */
  build<const B extends K["handlers"]>(handlers: B & NoOthers<B, K["handlers"]>): Machine<S, E, Built<K>, H, T, I, R | HandlerServices<B>>
}

type NoOthers<B, Slots> = { readonly [N in Exclude<keyof B, keyof Slots>]: "there is no slot of this name" }

/** The slots of a machine once `build` has filled them. */
export interface Built<K extends SlotTypes> extends SlotTypes {
  readonly guards: K["guards"]
  readonly requests: K["requests"]
  readonly runs: K["runs"]
  readonly handlers: K["handlers"]
  readonly left: never
}

/** The states of a machine. */
export type StateOf<M> = M extends { readonly "~types": { readonly state: infer S } } ? S : never
/** The events of a machine. */
export type EventOf<M> = M extends { readonly "~types": { readonly event: infer E } } ? E : never
/** What an instance is created from. */
export type InputOf<M> = M extends { readonly "~types": { readonly input: (input: infer I) => void } } ? I : never
/** The services a machine's work needs. */
export type ServicesOf<M> = M extends { readonly "~types": { readonly services: infer R } } ? R : never

type Specific<T, S extends string, E extends string> = T extends `${S} × ${E} → ${infer To}` ? To : never

type Resolved<To, S> = To extends "(stay)" ? S : To extends "(stop)" ? never : To

interface Known {
  readonly "~edges": string
  readonly "~handled": string
}

/** A fallback holds where the state says nothing of the event itself, and is not final. */
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
