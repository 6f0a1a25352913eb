/**
 * A decision is the outcome of one event in one state, as data: the next state, requests and answer. It has no effect by
 * itself: the actor or the engine carries it out.
 */
import type * as Effect from "effect/Effect"
import type {
  ActionFailed,
  EndlessTransition,
  InvalidState,
  InvalidTransition,
  MachineStopped,
  Phase,
  TransitionRefused,
} from "../error/MachineError.ts"
import type { Tagged } from "../schema/Variant.ts"

/** An effect slot that was called in a decision, an `enter` or an `exit`. The commit makes it a command. */
export interface Request {
  readonly slot: string
  readonly parameters: object
}

/** A deadline that begins with a transition. */
export interface TimerRequest {
  readonly name: string
  /** `Infinity` cancels the timer of this name. Occurs only where an idle timer restarts. */
  readonly millis: number
}

/** A delayed event of the instance that a decision sets or cancels. It belongs to no state: only its name ends it. */
export interface DelayRequest<E> {
  readonly name: string
  /** `Infinity`: the delayed event of this name is cancelled. */
  readonly millis: number
  /** Undefined where it is cancelled. */
  readonly event: E | undefined
}

/** An Effect that an `enter` or `exit` returned: it runs after the commit. */
export interface Hook {
  readonly phase: Phase & ("enter" | "exit")
  readonly state: string
  readonly effect: Effect.Effect<unknown, unknown, unknown>
}

interface Settled<S, E> {
  readonly from: S
  readonly state: S
  readonly event: E
  readonly requests: ReadonlyArray<Request>
  /** Events that the machine raised: handled right after this one. */
  readonly sends: ReadonlyArray<E>
  /** Whether `enter` or `exit` raised some of them: a replay does not run hooks, so these events must be journaled. */
  readonly raisedByHooks?: boolean
  /** The answer to a question. */
  readonly answer: unknown
  /** States that automatic transitions passed through on the way to `state`. */
  readonly through: ReadonlyArray<S>
  readonly hooks: ReadonlyArray<Hook>
  /** All timers of the state and groups that are entered, and the idle timers, which restart, of those that last. */
  readonly timers: ReadonlyArray<TimerRequest>
  /** Delayed events that were set and cancelled, in that order. A later entry replaces an earlier one of the same name. */
  readonly delays: ReadonlyArray<DelayRequest<E>>
  /**
   * The answers of guards, in the order they were asked: a replay asks none. A guard slot that an inline guard asks has no
   * entry of its own.
   */
  readonly guardAnswers: ReadonlyArray<boolean>
  /** Whether inline guards (`{ guard }`, `.always`) are among them. */
  readonly inlineGuards?: boolean
  /**
   * How many of the groups around `state` were not left on the way, from the outermost: their work and timers continue. Groups for
   * which nothing is declared do not count. Default: 0.
   */
  readonly kept?: number
}

/** A state is entered: another one, or the same one again. */
export interface Goto<S, E> extends Settled<S, E> {
  readonly _tag: "Goto"
}

/** The state lasts, perhaps with new data. Its work and timers continue. */
export interface Stay<S, E> extends Settled<S, E> {
  readonly _tag: "Stay"
}

/** The machine ends. */
export interface Stop<S, E> extends Settled<S, E> {
  readonly _tag: "Stop"
  readonly reason: string
}

/** The event waits for the next change of state. */
export interface Postponed<S, E> {
  readonly _tag: "Postponed"
  readonly from: S
  readonly event: E
}

/** Nothing changes; `error` says why. */
export interface Refused<S, E> {
  readonly _tag: "Refused"
  readonly from: S
  readonly event: E
  readonly error: TransitionRefused | InvalidTransition | MachineStopped | ActionFailed | EndlessTransition
}

/** The instance cannot begin; `error` says why. */
export interface NotBegun<S, E> {
  readonly _tag: "Refused"
  readonly from: S
  readonly event: E
  readonly error: Refused<S, E>["error"] | InvalidState
}

/** The decision is an Effect; its outcome is stored. */
export interface Deferred<S, E> {
  readonly _tag: "Deferred"
  readonly from: S
  readonly event: E
  readonly effect: Effect.Effect<Exclude<Decision<S, E>, Deferred<S, E>>, never, unknown>
}

/** A decision that is journaled. */
export type Taken<S, E> = Goto<S, E> | Stay<S, E> | Stop<S, E>

export type Decision<S, E> = Taken<S, E> | Postponed<S, E> | Refused<S, E> | Deferred<S, E>

/** The first state of an instance, and the requests of entering it. */
export interface Beginning<S, E> {
  readonly _tag: "Beginning"
  readonly state: S
  readonly requests: ReadonlyArray<Request>
  readonly sends: ReadonlyArray<E>
  readonly through: ReadonlyArray<S>
  readonly hooks: ReadonlyArray<Hook>
  readonly timers: ReadonlyArray<TimerRequest>
  readonly delays: ReadonlyArray<DelayRequest<E>>
}

/** The empty list that all decisions share. */
export const none: ReadonlyArray<never> = Object.freeze([])

/** One shape for all decisions that are taken, made once per event: JavaScript engines read objects of one shape fast. */
export class TakenDecision {
  readonly _tag: "Goto" | "Stay" | "Stop"
  readonly from: Tagged
  readonly state: Tagged
  readonly event: Tagged
  readonly answer: unknown
  requests: ReadonlyArray<Request> = none
  sends: ReadonlyArray<Tagged> = none
  through: ReadonlyArray<Tagged> = none
  hooks: ReadonlyArray<Hook> = none
  timers: ReadonlyArray<TimerRequest> = none
  delays: ReadonlyArray<DelayRequest<Tagged>> = none
  guardAnswers: ReadonlyArray<boolean> = none
  inlineGuards = false
  kept = 0
  raisedByHooks = false
  reason: string | undefined = undefined

  constructor(tag: "Goto" | "Stay" | "Stop", from: Tagged, event: Tagged, state: Tagged, answer: unknown) {
    this._tag = tag
    this.from = from
    this.state = state
    this.event = event
    this.answer = answer
  }
}
