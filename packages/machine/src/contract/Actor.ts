/**
 * An actor is a live machine in memory. It handles one event after the other, in the order they were sent.
 *
 * While its mailbox is empty an actor decides inline, in the caller's turn; it owns a fiber only where its state has
 * work, a timer, or a hook that returns an Effect. An idle actor is only a small object.
 */
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Stream from "effect/Stream"
import type { Taken } from "../decision/Decision.ts"
import type { TimeoutEvent } from "../decision/Timeout.ts"
import type { ActionFailed, MachineStopped, SendError } from "../error/MachineError.ts"
import type { Answered } from "../schema/Union.ts"

/** A snapshot of an actor: its state and status. */
export interface Snapshot<out S> {
  readonly state: S
  readonly previous: S | undefined
  /** The states before, newest first, as far back as the actor remembers. */
  readonly history: ReadonlyArray<S>
  readonly startedAt: number
  readonly lastTransitionAt: number
  /** How many events changed or confirmed the state. */
  readonly sequence: number
  readonly status: "running" | "final" | "stopped" | "failed"
  /** Why it ended, where it did. */
  readonly reason: string | undefined
}

/** How an actor ended. */
export type ActorEnd<S> =
  | { readonly _tag: "Final"; readonly state: S }
  | { readonly _tag: "Stopped"; readonly state: S; readonly reason: string }
  | { readonly _tag: "Failed"; readonly state: S; readonly error: ActionFailed }

/** The answer to an event made with `Event.reply`. */
export type AnswerOf<V> = V extends Answered<infer A> ? A : never

type MustBeQuestion<V> = [keyof V & "~answer"] extends [never]
  ? { readonly "this event has no reply: declare it with Event.reply": true }
  : unknown

export interface Actor<out S, in out E> {
  readonly id: string
  readonly machine: string
  /** Sends an event and waits until it is handled. */
  send(event: E): Effect.Effect<void, SendError>
  /**
   * Sends an event from outside Effect. Returns the result, or undefined where the actor is busy and the event waits in the
   * mailbox.
   */
  sendUnsafe(event: E): Exit.Exit<void, SendError> | undefined
  /** Sends an event and returns the decision. */
  call(event: E): Effect.Effect<Taken<S, E | TimeoutEvent>, SendError>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<V extends E>(event: V & MustBeQuestion<V>): Effect.Effect<AnswerOf<V>, SendError>
  readonly state: Effect.Effect<S>
  readonly snapshot: Effect.Effect<Snapshot<S>>
  snapshotUnsafe(): Snapshot<S>
  /** The states before, newest first. */
  readonly history: Effect.Effect<ReadonlyArray<S>>
  /** The current state, then every new one. Ends with the actor. */
  readonly changes: Stream.Stream<S>
  /** Calls back with every new state. Returns the function that unsubscribes. */
  subscribe(listener: (state: S) => void): () => void
  /** Waits for a state that a predicate accepts. Fails when the actor ends without one. */
  waitFor<A extends S>(predicate: (state: S) => state is A): Effect.Effect<A, MachineStopped>
  waitFor(predicate: (state: S) => boolean): Effect.Effect<S, MachineStopped>
  /** Waits for a final state. Fails when the actor is stopped or dies. */
  readonly awaitFinal: Effect.Effect<S, MachineStopped>
  /** Waits for the end of the actor, of any kind. */
  readonly watch: Effect.Effect<ActorEnd<S>>
  /** Ends the actor immediately: work is interrupted, waiting events are refused. A second call has no effect. */
  stop(reason?: string): Effect.Effect<void>
  /** Takes no more events, handles those that wait, lets commands finish, then stops. */
  readonly drain: Effect.Effect<void>
}
