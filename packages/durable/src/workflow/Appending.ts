/** Events on their way to the journal of an execution, in the order they are to be stored. */
import type { PersistenceFailed } from "@detent/machine"
import type { ExecutionEvent } from "./ExecutionEvent.ts"
import { type Phase, phaseAfter } from "./ExecutionState.ts"

/** What became of an event: `lost` where another process has gone on with the execution. */
export type AppendOutcome = "stored" | "lost" | PersistenceFailed

export class Appended {
  readonly event: ExecutionEvent
  readonly at: number
  /** From the execution's own run; all others are from somebody who wants them stored whoever runs it. */
  readonly own: boolean
  #first: ((outcome: AppendOutcome) => void) | undefined
  #others: Array<(outcome: AppendOutcome) => void> | undefined

  constructor(event: ExecutionEvent, at: number, own: boolean, done: ((outcome: AppendOutcome) => void) | undefined) {
    this.event = event
    this.at = at
    this.own = own
    this.#first = done
  }

  /** Tells one more what becomes of it. */
  tell(waiting: (outcome: AppendOutcome) => void) {
    this.#others ??= []
    this.#others.push(waiting)
  }

  done(outcome: AppendOutcome) {
    const first = this.#first
    this.#first = undefined
    first?.(outcome)
    for (const tell of this.#others?.splice(0) ?? none) tell(outcome)
  }
}

const none: ReadonlyArray<never> = []

export const phaseAfterAll = (phase: Phase, appended: ReadonlyArray<Appended>): Phase =>
  appended.reduce((before, { event }) => phaseAfter(before, event), phase)

/** Nothing follows the end: what was delivered after it stays behind. */
export const takeBatch = (pending: Array<Appended>, limit: number): ReadonlyArray<Appended> => {
  if (pending.length <= 1) return pending.splice(0, limit)
  const end = pending.findIndex(({ event }) => event._tag === "Ended")
  return pending.splice(0, Math.min(limit, end < 0 ? pending.length : end + 1))
}

/** What other processes may write to an execution that this one runs. The rest only comes from whoever runs it. */
export const isFromOutside = (event: ExecutionEvent, owner: string): boolean => {
  switch (event._tag) {
    case "Deferred":
    case "ClockFired":
    case "Interrupt":
    case "Awaited":
    case "Started":
      return true
    case "Resumed":
      return event.on === owner
    default:
      return false
  }
}
