/** The handle of a durable instance. It costs nothing: the instance is in memory only while it is needed. */
import type {
  AnswerOf,
  EventReplayError,
  MachineStopped,
  PersistenceFailed,
  Postponed,
  SendError,
  Taken,
  TimeoutEvent,
} from "@detent/machine"
import type { InstanceStatus } from "@detent/store"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { InstanceNotFound, PreviewRefused, SequenceNotReached } from "./errors.ts"
import type { Actor } from "./machine/Actor.ts"
import type { ReplacedEvent } from "./machine/Codec.ts"

/** Options of one send. */
export interface SendOptions {
  /** The idempotency key of this event: a repeated event returns the first result, also after a restart. */
  readonly id?: string
  /** Who sends it: the journal keeps it with the event. Default: `CurrentActor`; without one, the program itself. */
  readonly by?: Actor
}

/** A delayed event that waits for its deadline. */
export interface WaitingEvent<out E> {
  readonly name: string
  /** Milliseconds since 1970. */
  readonly due: number
  readonly event: E
}

/** The status of an instance, as the journal has it. */
export interface InstanceSnapshot<out S, out E = unknown> {
  readonly state: S
  readonly previous: S | undefined
  readonly sequence: number
  readonly status: InstanceStatus
  readonly reason: string | undefined
  readonly startedAt: number
  readonly lastTransitionAt: number
  /** Delayed events that wait, where there are any: earliest deadline first. */
  readonly delayed?: ReadonlyArray<WaitingEvent<E>>
}

/** One journaled event with the states around it. */
export interface HistoryEntry<out S, out E> {
  readonly sequence: number
  readonly at: number
  readonly event: E | TimeoutEvent
  readonly from: S
  readonly state: S
  readonly dedupeId: string | undefined
  /** Who caused the event. */
  readonly actor: Actor
  readonly outcome: "Goto" | "Stay" | "Stop"
  /** States that automatic transitions passed through on the way. */
  readonly through: ReadonlyArray<S>
  /** Effect slots that the transition requested. Those that `enter` and `exit` requested are listed with the instance's commands. */
  readonly requests: ReadonlyArray<string>
  /** Delayed events that were set; or cancelled, where `due` is undefined. */
  readonly delays?: ReadonlyArray<{ readonly name: string; readonly due: number | undefined; readonly event: E | undefined }>
  /** The events that repairs have replaced by this one, oldest first: who did it, when and why, and the body that was stored. */
  readonly replaced?: ReadonlyArray<ReplacedEvent>
}

/** Which part of a history to read. */
export interface HistoryOptions {
  /** Starts after this sequence number. Default: 0, the beginning. */
  readonly after?: number
  /** Default: 100. At most 10,000. */
  readonly limit?: number
}

/** Why an instance could not be read. */
export type ReadError = InstanceNotFound | EventReplayError | PersistenceFailed

export type { AnswerOf }

export interface Instance<out S, in out E> {
  readonly machine: string
  readonly id: string
  /** Sends an event and waits until it is stored and carried out. */
  send(event: E, options?: SendOptions): Effect.Effect<void, SendError | InstanceNotFound>
  /** Sends an event and returns the decision. */
  call(event: E, options?: SendOptions): Effect.Effect<Taken<S, E | TimeoutEvent>, SendError | InstanceNotFound>
  /** Sends an event made with `Event.reply` and returns the answer. */
  ask<V extends E>(event: V, options?: SendOptions): Effect.Effect<AnswerOf<V>, SendError | InstanceNotFound>
  /**
   * Decides an event as if it were sent now, by the same functions and guards, without storing or carrying it out. It fails as `send`
   * would. A decision that is an Effect is not run.
   */
  preview(event: E): Effect.Effect<Taken<S, E> | Postponed<S, E>, SendError | ReadError | PreviewRefused>
  /** The current stored state, also after a write of another process. Read from memory if a short query shows that it is up to date. */
  readonly state: Effect.Effect<S, ReadError>
  /** The same, with sequence number, status and times. */
  readonly snapshot: Effect.Effect<InstanceSnapshot<S, E>, ReadError>
  /** The same, but an instance that is not in memory is not loaded into it. */
  readonly stored: Effect.Effect<InstanceSnapshot<S, E>, ReadError>
  readonly lastSequence: Effect.Effect<number, ReadError>
  /** The state as it was after an event. */
  stateAt(sequence: number): Effect.Effect<S, ReadError | SequenceNotReached>
  /** Everything that was journaled, oldest first; read in pages. */
  readonly history: Stream.Stream<HistoryEntry<S, E>, ReadError>
  /**
   * A part of the history. The cost grows with its length: reading resumes from the page before, or from the nearest snapshot. The
   * first page deep in a long journal replays the events before it, without blocking other work.
   */
  historyPage(options?: HistoryOptions): Effect.Effect<ReadonlyArray<HistoryEntry<S, E>>, ReadError>
  /**
   * The current state, then every new one. Ends with the instance. Changes by another process arrive within the engine's
   * `followInterval`, here as in `waitFor` and `awaitFinal`. When the engine closes, `changes` ends, and those two fail with
   * `MachineStopped`. In an outage of the store all three wait. After a long one they continue with the state that the store has:
   * `changes` emits it again, and states in between may be missing. They fail with `PersistenceFailed` if the engine closes first.
   */
  readonly changes: Stream.Stream<S, ReadError>
  waitFor(predicate: (state: S) => boolean): Effect.Effect<S, ReadError | MachineStopped>
  readonly awaitFinal: Effect.Effect<S, ReadError | MachineStopped>
  /** Saves a snapshot now. False where a newer one is there already, or a self-sent event is not journaled yet. */
  readonly saveSnapshot: Effect.Effect<boolean, ReadError>
  /**
   * Removes the events that the latest snapshot covers, except for those that were sent under an id: a repeated id is answered
   * forever. For such an event, `call` returns its answer and the state of the snapshot. Returns how many events were removed.
   */
  readonly prune: Effect.Effect<number, ReadError>
}
