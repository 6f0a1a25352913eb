/**
 * What a live instance does at the moment. It is always in one mode, and decides only when it is idle:
 *
 *     idle          an event can be decided, unless a pause lasts or the node has lost the instance
 *     deciding      a decision is being made: by a function, an Effect, or after a read of the journal
 *     committing    a decision must be stored and carried out before the next one
 *     carrying out  a stored decision takes time: the end of work, exit and enter hooks
 *     resyncing     the journal is read: after a conflict, an unconfirmed commit, or a commit of another node
 *     ended         it has left memory
 *
 * What enters a mode, and what leaves it:
 *
 *     deciding      `beginDecision`, and `during` for an Effect or a read that a decision needs; left to idle by `endDecision`
 *     committing    `awaitCommit`; left to idle by `committed`
 *     carrying out  `during` for hooks, and for work that ends; left to idle when they have ended
 *     resyncing     `during` for reads of the journal; left to idle when it was read
 *     ended         `end`, from any mode; never left
 *     idle          `resume`, from any mode but ended: memory has what the journal has
 */

import type { SendError } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { StateWork } from "./StateWork.ts"

type Mode = "idle" | "deciding" | "committing" | "carrying out" | "resyncing" | "ended"

/** Why an instance has left memory without an end: its journal continues. */
export interface Left {
  readonly reason: LeaveReason
  /** The error of events that cannot follow it. */
  readonly error: SendError
}

/**
 * The instance moves to another node: new events no longer reach it here. `leaving`: waiting events are decided and stored first. `lost`:
 * this node has lost the instance and decides and stores nothing more for it, even under its next lease.
 */
export type Departure = "leaving" | "lost"

/** How long an instance with self-sent events or due timers decides nothing after the store or a lock failed. */
export const failurePauseMillis = 1000

export class InstanceMode {
  readonly #work: StateWork
  #mode: Mode = "idle"
  /** Nothing is decided while this fiber sleeps. */
  #pausing: Fiber.Fiber<void> | undefined = undefined
  #departure: Departure | undefined = undefined
  #left: Left | undefined = undefined

  constructor(work: StateWork) {
    this.#work = work
  }

  get isIdle(): boolean {
    return this.#mode === "idle"
  }

  /** Whether a decision must be stored and carried out before the next one. */
  get isCommitting(): boolean {
    return this.#mode === "committing"
  }

  get isEnded(): boolean {
    return this.#mode === "ended"
  }

  /** Idle, and no pause lasts. */
  get isReady(): boolean {
    return this.#mode === "idle" && this.#pausing === undefined
  }

  /** Whether the next event may be decided. */
  get mayDecide(): boolean {
    return this.isReady && this.#departure !== "lost"
  }

  get departure(): Departure | undefined {
    return this.#departure
  }

  get left(): Left | undefined {
    return this.#left
  }

  beginDecision() {
    this.#mode = "deciding"
  }

  /** A decision that waits for an Effect or a read stays in its mode. */
  endDecision() {
    if (this.#mode === "deciding" && !this.#work.isAwaiting) this.#mode = "idle"
  }

  /** Nothing is decided before the pending decisions are stored. */
  awaitCommit() {
    this.#mode = "committing"
  }

  /** The decision that the instance waited for is stored and carried out. */
  committed() {
    if (this.#mode === "committing") this.#mode = "idle"
  }

  resume() {
    this.#mode = "idle"
  }

  /** Decides nothing while an Effect runs. After that the instance is idle, unless `then` changes the mode. */
  during<A>(
    mode: "deciding" | "carrying out" | "resyncing",
    effect: Effect.Effect<A, never, unknown>,
    then: (value: A | undefined) => void,
  ) {
    const before = this.#mode
    let isInline = true
    this.#mode = mode
    this.#work.runtime.awaiting(effect, (value) => {
      if (this.#mode === mode) this.#mode = isInline && before === "deciding" ? before : "idle"
      then(value)
    })
    isInline = false
  }

  /**
   * Decides nothing for this time. A later pause replaces an earlier one. The end of the sleep counts, not the clock: timers of Node fire
   * up to a millisecond early, and clocks are set back.
   */
  pause(millis: number) {
    const { instance } = this.#work
    const pausing = instance.record.environment.run(Effect.sleep(millis))
    this.#pausing = pausing
    pausing.addObserver((exit) => {
      if (this.#pausing !== pausing || Exit.isFailure(exit)) return
      this.#pausing = undefined
      instance.resumed()
    })
  }

  /** A loss is final: an instance that is leaving may still be lost. */
  depart(departure: Departure) {
    if (this.#departure !== "lost") this.#departure = departure
  }

  /** The instance leaves memory. `left`: without an end. Returns whether it was in memory. */
  end(left?: Left): boolean {
    if (left !== undefined) this.#left = left
    const wasLive = this.#mode !== "ended"
    this.#mode = "ended"
    return wasLive
  }
}

/** Why an instance has left memory although its journal continues. */
export type LeaveReason =
  /** It was not used. The next caller opens it again. */
  | { readonly _tag: "Idle" }
  /** The engine, or the part of it that follows the instance, was closed. */
  | { readonly _tag: "Closed"; readonly problem: string }
  /** Its journal no longer replays. */
  | { readonly _tag: "Unreadable"; readonly problem: string }
  /** It moved to another node. Callers that wait for it here follow it there. */
  | { readonly _tag: "Moved" }
  /** The store was away for too long, and may have stored more than memory has. Callers that wait for it follow it when the store is back. */
  | { readonly _tag: "StateUnknown" }
  /** Another process has removed it. */
  | { readonly _tag: "Removed" }

/** Whether the instance continues in this or another process, so that its callers can follow it. */
export const continues = (reason: LeaveReason): boolean => reason._tag === "Moved" || reason._tag === "StateUnknown"

/** The text of a reason, for errors. */
export const leaveText = (reason: LeaveReason): string => {
  switch (reason._tag) {
    case "Idle":
      return "it was idle"
    case "Closed":
    case "Unreadable":
      return reason.problem
    case "Moved":
      return "it went to another node"
    case "StateUnknown":
      return "it left memory, because its stored state is unknown"
    case "Removed":
      return "another process has removed it"
  }
}
