/**
 * The types of a definition: the arguments and checks of `.on` and the other methods, and the type of the finished machine.
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Definition } from "../contract/MachineType.ts"
import type { FieldsOfAll, IndexTypes, IndexValue } from "../contract/Search.ts"
import type { Self } from "../contract/Self.ts"
import type { History, Refuse, Stay, Stop } from "../decision/Outcome.ts"
import type { TimeoutEnd } from "../decision/Timeout.ts"
import type { CommandSettings } from "../effects/Command.ts"
import type { AsyncContext } from "../effects/HandlerCall.ts"
import type { HandlerServices } from "../effects/Slot.ts"
import type { TagOf } from "../schema/Union.ts"
import type { Group, Initial, Source } from "../schema/Variant.ts"
import type { Persistence } from "./Declarations.ts"
import type {
  Decided,
  Edge,
  Entered,
  Fallback,
  FinalPair,
  FinalPairOf,
  HandledTags,
  Kept,
  MustBeNew,
  MustCarry,
  MustCarryBack,
  MustFit,
  MustReturnEach,
  NoOthers,
  OneOrMany,
  Pair,
  ServicesDecided,
  StateDecided,
} from "./TypeRules.ts"

export type { Definition } from "../contract/MachineType.ts"

/** The slots of a machine, as its functions see them. */
export interface SlotTypes {
  readonly guards: object
  readonly requests: object
  readonly runs: object
  readonly handlers: object
  readonly left: string
}

/** Where a transition can lead: a state, a group that names its initial member, `history`, `stay` or `stop`. */
export interface Target<out T> {
  readonly Type: T
  readonly tag: string
  readonly "~initial"?: Initial | "a group is a target where it names its initial member: State.group({ ... }, { initial })"
}

/** The possible targets of a transition. */
type Reachable<S> = S | Stay | Stop | History

/** The input of a decision. A decision is a pure function of it. */
export interface DecisionContext<S, V, E, K extends SlotTypes> {
  readonly state: S
  readonly event: V
  /** When the event was accepted, in milliseconds since 1970: the same in every replay. */
  readonly at: number
  readonly guards: K["guards"]
  /** Calling a slot requests its effect, which runs after the commit. */
  readonly effects: K["requests"]
  /** `send` raises an event, which the machine handles right after this one. */
  readonly self: { readonly send: (event: E) => void }
  readonly after: After<E>
  readonly cancel: Cancel
}

/**
 * Sends the instance an event after a time, in any state. The same name again replaces the event and its time;
 * the end of the instance drops it.
 */
export type After<E> = (name: string, delay: Duration.Input, event: E) => void

/** Cancels the delayed event of a name. Without effect where there is none. */
export type Cancel = (name: string) => void

/** Decides a transition. It may return an Effect, for a decision that must call a service; later events wait for it. */
export type Decide<S, V, To, E, K extends SlotTypes, R> = (context: DecisionContext<S, V, E, K>) => Decided<To, V, R>

/** The input of `enter` and `exit`. */
export interface HookContext<S, All, E, K extends SlotTypes> {
  readonly state: S
  /** The state on the other side: the one left for `enter`, the one reached for `exit`. None at the start and the end. */
  readonly other: All | undefined
  readonly event: E | undefined
  readonly at: number
  readonly effects: K["requests"]
  readonly self: { readonly send: (event: E) => void }
  readonly after: After<E>
  readonly cancel: Cancel
}

/** The input of work that runs while a state lasts. */
export interface WorkContext<S, E, K extends SlotTypes> extends AsyncContext {
  readonly id: string
  readonly state: S
  readonly effects: K["runs"]
  readonly self: Self<E>
  /** The same for each start of this work in the same stay in the state: pass it on as idempotency key. */
  readonly key: string
  /** The sequence number of the event that led to the state. */
  readonly sequence: number
}

/** Slots that the functions of a transition use. Diagrams show them; nothing else depends on them. */
export interface SlotUse<K extends SlotTypes> {
  /** Guard slots that are asked. */
  readonly guards?: ReadonlyArray<keyof K["guards"]>
  /** Effect slots that are requested. */
  readonly requests?: ReadonlyArray<keyof K["requests"]>
}

/** Whether a timeout, a hook or work belongs to a group or to each of its states. */
export interface GroupOptions {
  /** It belongs to each state of the group and restarts with every move between them. Default: it belongs to the group. */
  readonly each?: boolean
}

/** Options of `enter` and `exit`. */
export interface HookOptions<K extends SlotTypes> extends GroupOptions {
  /** What it does, in a few words. Diagrams show it. */
  readonly name?: string
  /** Effect slots that it requests. Diagrams show them. */
  readonly requests?: ReadonlyArray<keyof K["requests"]>
}

/** Options of `spawn` and `task`. */
export interface WorkOptions<K extends SlotTypes> extends GroupOptions {
  /** What it does, in a few words. Diagrams show it. */
  readonly name?: string
  /** Effect slots that it runs. Diagrams show them. */
  readonly runs?: ReadonlyArray<keyof K["runs"]>
}

/** Options of an automatic transition. */
export interface AlwaysOptions<K extends SlotTypes> extends SlotUse<K> {
  /** Names its guard in diagrams. */
  readonly guardName?: string
  readonly description?: string
}

/** Options of one transition. */
export interface TransitionOptions<S, V, E, K extends SlotTypes, O = undefined> extends SlotUse<K> {
  /** The event is refused where this returns false. `guardName` names it in diagrams and errors. */
  readonly guard?: (context: DecisionContext<S, V, E, K>) => boolean
  readonly guardName?: string
  readonly description?: string
  /** Replaces the earlier declaration for the same state and event. */
  readonly override?: O
}

/** Options of `on`. */
export interface OnOptions<S, V, E, K extends SlotTypes, O = undefined, L = undefined> extends TransitionOptions<S, V, E, K, O> {
  /** Where the guard does not hold, tries the earlier transition for the same state and event, such as that of the group. */
  readonly fallThrough?: L
  /**
   * Leaves the state or group it is declared for, and the group it leads to, also where one is inside the other: their work and
   * timers restart. Default: the groups around both the state and its target are kept.
   */
  readonly reenter?: boolean
  /** Each of several states leads to itself, never to another of them. */
  readonly sameState?: boolean
}

export interface FinalOptions {
  readonly outcome: "failure"
}

export interface TimeoutOptions<N extends string, O = undefined, K extends SlotTypes = SlotTypes> extends SlotUse<K>, GroupOptions {
  /** Required where a state has more than one. Default: `timeout`. */
  readonly name?: N
  /** An idle timeout restarts with every event. Default: it counts from when the state was entered. */
  readonly idle?: boolean
  readonly description?: string
  /** Replaces the timeout of the same state and name. */
  readonly override?: O
}

/** The events that follow from the end of work. */
export interface TaskOutcomes<A, X, S, E> {
  readonly onSuccess: (value: A, context: { readonly state: S }) => E
  readonly onFailure: (error: X, context: { readonly state: S }) => E
  /** For an exception of the work, and an Effect that dies. Default: the machine's supervision restarts the work, or the actor fails. */
  readonly onDefect?: (defect: unknown, context: { readonly state: S }) => E
}

/**
 * A machine, also while it is being declared. Every method returns a new one.
 *
 * @template S the union of states
 * @template E the union of events
 * @template K the slots
 * @template H the pairs of state and event that are declared
 * @template T the edges: pair and target
 * @template I the input the initial state is made from
 * @template R the services its work needs
 * @template Q the types of its indexed fields
 */
export interface Machine<S, E, K extends SlotTypes, H extends string, T extends string, I, R, Q = Record<never, never>>
  extends Definition<S, E, I, R, K["left"]> {
  readonly "~edges": T
  readonly "~handled": H
  readonly "~indexes": Q

  /** The transition whose target takes all its fields from the event and the state. */
  on<F extends Source<S>, V extends Source<E>, To extends Target<Reachable<S>>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V>,
    to: To & MustCarry<F["Type"], V["Type"], Entered<To>>,
  ): Machine<S, E, K, H | Pair<F, V>, T | Edge<Pair<F, V>, To>, I, R, Q>
  on<
    F extends Source<S>,
    V extends Source<E>,
    To extends Target<Reachable<S>>,
    O extends true | undefined = undefined,
    L extends true | undefined = undefined,
  >(
    from: OneOrMany<F> & MustFit<Pair<F, V>, FinalPair<F>, H, O | L>,
    event: OneOrMany<V>,
    to: To & MustCarry<F["Type"], V["Type"], Entered<To>>,
    options: OnOptions<F["Type"], V["Type"], E, K, O, L>,
  ): Machine<S, E, K, H | Pair<F, V>, Kept<T, Pair<F, V>, O> | Edge<Pair<F, V>, To>, I, R, Q>
  /** The transition with a decision: `to` lists every state the decision may return. */
  on<
    F extends Source<S>,
    V extends Source<E>,
    To extends Target<Reachable<S>>,
    R2 = never,
    O extends true | undefined = undefined,
    L extends true | undefined = undefined,
  >(
    from: OneOrMany<F> & MustFit<Pair<F, V>, FinalPairOf<F, V["Type"], To["Type"]>, H, O | L>,
    event: OneOrMany<V>,
    to: OneOrMany<To>,
    decide: Decide<F["Type"], V["Type"], To["Type"], E, K, R2>,
    options?: OnOptions<F["Type"], V["Type"], E, K, O, L>,
  ): Machine<S, E, K, H | Pair<F, V>, Kept<T, Pair<F, V>, O> | Edge<Pair<F, V>, To>, I, R | R2, Q>

  /** Leaves the state and enters it again: its work and its timers restart. */
  reenter<F extends Source<S>, V extends Source<E>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V> & MustCarryBack<F["Type"], V["Type"]>,
  ): Machine<S, E, K, H | Pair<F, V>, T | Edge<Pair<F, V>, F>, I, R, Q>
  reenter<F extends Source<S>, V extends Source<E>, X extends Decided<F["Type"], V["Type"], unknown>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V>,
    decide: ((context: DecisionContext<F["Type"], V["Type"], E, K>) => X) & MustReturnEach<F["Type"], StateDecided<X>>,
    options?: TransitionOptions<F["Type"], V["Type"], E, K>,
  ): Machine<S, E, K, H | Pair<F, V>, T | Edge<Pair<F, V>, F>, I, R | ServicesDecided<X>, Q>

  /** The transition on an event in every state that is not final and has no transition of its own for it. */
  onAny<V extends Source<E>, To extends Target<Reachable<S>>>(
    event: OneOrMany<V> & MustBeNew<Fallback<V>, H>,
    to: To & MustCarry<S, V["Type"], Entered<To>>,
  ): Machine<S, E, K, H | Fallback<V>, T | Edge<Fallback<V>, To>, I, R, Q>
  onAny<V extends Source<E>, To extends Target<Reachable<S>>, R2 = never>(
    event: OneOrMany<V> & MustBeNew<Fallback<V>, H>,
    to: OneOrMany<To>,
    decide: Decide<S, V["Type"], To["Type"], E, K, R2>,
    options?: TransitionOptions<S, V["Type"], E, K>,
  ): Machine<S, E, K, H | Fallback<V>, T | Edge<Fallback<V>, To>, I, R | R2, Q>

  /** Keeps the event until the next state change and handles it then. */
  postpone<F extends Source<S>, V extends Source<E>>(
    from: OneOrMany<F> & MustBeNew<Pair<F, V> | FinalPair<F>, H>,
    event: OneOrMany<V>,
  ): Machine<S, E, K, H | Pair<F, V>, T, I, R, Q>

  /** A transition that is taken without an event as soon as its guard holds. Checked in declaration order after every decision.
   * A decision may return `refuse`: the event that led here is then refused, and nothing changes. */
  always<F extends Source<S>, To extends Target<S | Stop | History>>(
    from: OneOrMany<F> & MustBeNew<FinalPair<F>, H>,
    guard: (context: Omit<DecisionContext<F["Type"], E | undefined, E, K>, "effects" | "self" | "after" | "cancel">) => boolean,
    to: To & MustCarry<F["Type"], unknown, Entered<To>>,
    options?: AlwaysOptions<K>,
  ): Machine<S, E, K, H | `${F["tag"]} × (always)`, T | `${F["tag"]} × (always) → ${To["tag"]}`, I, R, Q>
  always<F extends Source<S>, To extends Target<S | Stop | History>>(
    from: OneOrMany<F> & MustBeNew<FinalPair<F>, H>,
    guard: (context: Omit<DecisionContext<F["Type"], E | undefined, E, K>, "effects" | "self" | "after" | "cancel">) => boolean,
    to: OneOrMany<To>,
    decide: (context: DecisionContext<F["Type"], E | undefined, E, K>) => To["Type"] | Refuse,
    options?: AlwaysOptions<K>,
  ): Machine<S, E, K, H | `${F["tag"]} × (always)`, T | `${F["tag"]} × (always) → ${To["tag"]}`, I, R, Q>

  /**
   * The transition after a state has lasted, or been idle, for a time, or at a date: `{ until: (state) => state.renewsAt }`. `Infinity` sets
   * no timer; a time that has passed is due immediately. The timeout of a group counts from when the group was entered from outside: moves between its states do not affect it.
   */
  timeout<F extends Source<S>, To extends Target<Reachable<S>>, const N extends string = "timeout", O extends true | undefined = undefined>(
    from: OneOrMany<F> & MustFit<`${F["tag"]} × (${N})`, FinalPair<F>, H, O>,
    after: TimeoutEnd<F["Type"]>,
    to: OneOrMany<To>,
    decide: (context: DecisionContext<F["Type"], undefined, E, K>) => To["Type"] | Refuse,
    options?: TimeoutOptions<N, O, K>,
  ): Machine<S, E, K, H | `${F["tag"]} × (${N})`, Kept<T, `${F["tag"]} × (${N})`, O> | `${F["tag"]} × (${N}) → ${To["tag"]}`, I, R, Q>
  timeout<F extends Source<S>, To extends Target<Reachable<S>>, const N extends string = "timeout", O extends true | undefined = undefined>(
    from: OneOrMany<F> & MustFit<`${F["tag"]} × (${N})`, FinalPair<F>, H, O>,
    after: TimeoutEnd<F["Type"]>,
    to: To & MustCarry<F["Type"], unknown, Entered<To>>,
    options?: TimeoutOptions<N, O, K>,
  ): Machine<S, E, K, H | `${F["tag"]} × (${N})`, Kept<T, `${F["tag"]} × (${N})`, O> | `${F["tag"]} × (${N}) → ${To["tag"]}`, I, R, Q>

  /**
   * Runs when the state is entered. Its requests are stored with the transition; an Effect it returns runs after the commit. That of
   * a group runs when the group is entered from outside, before those of its states and groups.
   */
  enter<F extends Source<S>, R2 = never>(
    state: OneOrMany<F>,
    hook: (context: HookContext<F["Type"], S, E, K>) => void | Effect.Effect<unknown, unknown, R2>,
    options?: HookOptions<K>,
  ): Machine<S, E, K, H, T, I, R | R2, Q>
  /** Runs when the state is left, under the same rules as `enter`. That of a group runs after those of its states and groups. */
  exit<F extends Source<S>, R2 = never>(
    state: OneOrMany<F>,
    hook: (context: HookContext<F["Type"], S, E, K>) => void | Effect.Effect<unknown, unknown, R2>,
    options?: HookOptions<K>,
  ): Machine<S, E, K, H, T, I, R | R2, Q>

  /**
   * Work that runs while the state lasts and is interrupted when the state is left. If it fails, the actor fails. That of a group
   * runs until the group is left: moves between its states do not affect it.
   */
  spawn<F extends Source<S>, R2 = never>(
    state: OneOrMany<F>,
    work: (context: WorkContext<F["Type"], E, K>) => Effect.Effect<unknown, unknown, R2> | PromiseLike<unknown>,
    options?: WorkOptions<K>,
  ): Machine<S, E, K, H, T, I, R | R2, Q>
  /** Like `spawn`, with an event for success and one for failure. A Promise that is rejected fails with the reason. */
  task<F extends Source<S>, A, X = unknown, R2 = never>(
    state: OneOrMany<F>,
    work: (context: WorkContext<F["Type"], E, K>) => Effect.Effect<A, X, R2> | PromiseLike<A>,
    outcomes: TaskOutcomes<A, X, F["Type"], E>,
    options?: WorkOptions<K>,
  ): Machine<S, E, K, H, T, I, R | R2, Q>
  /**
   * Raises an event when a group reaches one of these members: they complete it. The event is handled right after, in the member.
   */
  done<G extends Group<unknown, string> & Source<S>, F extends Source<G["Type"]>>(
    group: G,
    members: OneOrMany<F>,
    event: E | ((context: Pick<HookContext<F["Type"], S, E, K>, "state" | "other" | "event" | "at">) => E),
  ): Machine<S, E, K, H, T, I, R, Q>

  /** Tags and a description of states or groups, for lists, pages and diagrams. A second call adds tags, and replaces the description. */
  meta<F extends Source<S>>(
    states: OneOrMany<F>,
    about: { readonly tags?: ReadonlyArray<string>; readonly description?: string },
  ): Machine<S, E, K, H, T, I, R, Q>

  /** Work that runs as long as the actor does. */
  background<R2 = never>(
    work: (context: Omit<WorkContext<S, E, K>, "state">) => Effect.Effect<unknown, unknown, R2> | PromiseLike<unknown>,
  ): Machine<S, E, K, H, T, I, R | R2, Q>

  /** States in which an instance ends. `{ outcome: "failure" }`: ending there means that it has failed, as lists and diagrams show. */
  final<F extends Source<S>>(
    states: OneOrMany<F> & MustBeNew<Extract<H, `${F["tag"]} × ${string}`>, H>,
    options: FinalOptions,
  ): Machine<S, E, K, H | FinalPair<F>, T, I, R, Q>
  final<F extends Source<S>>(
    ...states: ReadonlyArray<F> & MustBeNew<Extract<H, `${F["tag"]} × ${string}`>, H>
  ): Machine<S, E, K, H | FinalPair<F>, T, I, R, Q>

  /** Declares that every event is handled by some state; the compiler names those that are not. */
  total(
    this: [Exclude<TagOf<E>, HandledTags<H>>] extends [never]
      ? Machine<S, E, K, H, T, I, R, Q>
      : { readonly "events no state handles": Exclude<TagOf<E>, HandledTags<H>> },
  ): Machine<S, E, K, H, T, I, R, Q>

  /**
   * Indexed fields: a durable engine finds and orders instances by them, as in `engine.list(Order, { where: { customer: "ada" } })`. Each
   * function reads one field of the state, of type text, number, instant or boolean. A second call adds to the first.
   */
  index<const F extends Readonly<Record<string, (state: FieldsOfAll<S>) => IndexValue | null | undefined>>>(
    fields: F,
  ): Machine<S, E, K, H, T, I, R, Q & IndexTypes<F>>

  /** How a durable engine stores instances. Without effect in memory. */
  persist(options: Persistence<TagOf<S>>): Machine<S, E, K, H, T, I, R, Q>

  /** How requested effects are executed, and which events follow from their results. A second call adds to the first. */
  commands(settings: CommandSettings<K["runs"], E>): Machine<S, E, K, H, T, I, R, Q>

  /** Implements the slots. */
  build<const B extends K["handlers"]>(
    handlers: B & NoOthers<B, K["handlers"]>,
  ): Machine<S, E, Built<K>, H, T, I, R | HandlerServices<B>, Q>
}

/** The slots of a machine after `build`. */
export interface Built<K extends SlotTypes> extends SlotTypes {
  readonly guards: K["guards"]
  readonly requests: K["requests"]
  readonly runs: K["runs"]
  readonly handlers: K["handlers"]
  readonly left: never
}
