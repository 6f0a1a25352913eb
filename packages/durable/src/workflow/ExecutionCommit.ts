/** Events of an execution that are to be journaled, and their commit. */
import type { PersistenceFailed } from "@detent/machine"
import type { Commit, EventRecord, InstanceKey, OpenedInstance, TimerRecord } from "@detent/store"
import { bodyOf, type ExecutionEvent, tagOf } from "./ExecutionEvent.ts"
import { type ExecutionState, isAtWork, isEnded, type Phase, phaseAfter, statusOf } from "./ExecutionState.ts"

/** `lost`: another node runs the execution from now on. */
export type AppendOutcome = "stored" | "lost" | PersistenceFailed

export class UnstoredEvent {
  readonly event: ExecutionEvent
  readonly at: number
  /** Whether the run on this node wrote it: then it is dropped if another node has taken over. All other events are stored in any case. */
  readonly isOwn: boolean
  #onDone: ((outcome: AppendOutcome) => void) | undefined
  #others: Array<(outcome: AppendOutcome) => void> | undefined

  constructor(event: ExecutionEvent, at: number, isOwn: boolean, onDone: ((outcome: AppendOutcome) => void) | undefined) {
    this.event = event
    this.at = at
    this.isOwn = isOwn
    this.#onDone = onDone
  }

  /** Also calls back another sender of the same event. */
  alsoOnDone(listener: (outcome: AppendOutcome) => void) {
    this.#others ??= []
    this.#others.push(listener)
  }

  done(outcome: AppendOutcome) {
    const onDone = this.#onDone
    this.#onDone = undefined
    onDone?.(outcome)
    for (const other of this.#others?.splice(0) ?? none) other(outcome)
  }
}

const none: ReadonlyArray<never> = []

export const phaseAfterAll = (phase: Phase, pending: ReadonlyArray<UnstoredEvent>): Phase =>
  pending.reduce((before, { event }) => phaseAfter(before, event), phase)

/** How many events one commit may contain: none follows the end. */
export const countUntilEnd = (pending: ReadonlyArray<UnstoredEvent>): number => {
  if (pending.length <= 1) return pending.length
  const end = pending.findIndex(({ event }) => event._tag === "Ended")
  return end < 0 ? pending.length : end + 1
}

export interface CommitParts {
  readonly key: InstanceKey
  /** The stored state. */
  readonly state: ExecutionState
  readonly batch: ReadonlyArray<UnstoredEvent>
  /** The phase after the batch. */
  readonly phase: Phase
  readonly at: number
  readonly origin: string | undefined
  /** The node that runs the execution from now on; undefined keeps the current owner. */
  readonly owner: string | undefined
  /** For an ended execution: whether parents wait for its end and may not have been notified. */
  readonly owesParents: () => boolean
}

export const commitOf = ({ key, state, batch, phase, at, origin, owner, owesParents }: CommitParts): Commit => {
  const base = Math.max(0, state.sequence)
  const hasEnded = isEnded(phase)
  return {
    machine: key.machine,
    id: key.id,
    expected: state.sequence,
    sequence: base + batch.length,
    at,
    summary: {
      tag: phase,
      status: statusOf(phase),
      reason: phase === "Held" ? (problemIn(batch) ?? state.problem) : undefined,
      version: 1,
      needsOwner: isAtWork(phase),
      owner: isAtWork(phase) ? owner : undefined,
      owes: hasEnded && owesParents(),
    },
    origin,
    events: batch.map(({ event, at }, index) => recordOf(withOwner(event, owner), base + index + 1, at)),
    snapshot: undefined,
    clearTimers: hasEnded && state.clocks.size > 0 ? "all" : firedClocks(batch),
    setTimers: hasEnded ? none : setClocks(batch, base),
    commands: none,
    fence: undefined,
  }
}

/** The owner is known only when the commit is made: another node may have become the owner since the event was appended. */
const withOwner = (event: ExecutionEvent, owner: string | undefined): ExecutionEvent =>
  event._tag === "Resumed" && owner !== undefined ? { ...event, on: owner } : event

const recordOf = (event: ExecutionEvent, sequence: number, at: number): EventRecord => ({
  sequence,
  at,
  tag: tagOf(event),
  body: bodyOf(event),
  dedupeId: undefined,
})

/** Nearly all batches are one result of an activity, without a clock. */
const firedClocks = (batch: ReadonlyArray<UnstoredEvent>): ReadonlyArray<string> =>
  batch.some(({ event }) => event._tag === "ClockFired")
    ? batch.flatMap(({ event }) => (event._tag === "ClockFired" ? [event.name] : []))
    : none

const setClocks = (batch: ReadonlyArray<UnstoredEvent>, base: number): ReadonlyArray<TimerRecord> =>
  batch.some(({ event }) => event._tag === "ClockSet")
    ? batch.flatMap(({ event }, index) =>
        event._tag === "ClockSet" ? [{ name: event.name, entry: base + index + 1, due: event.due }] : [],
      )
    : none

const problemIn = (batch: ReadonlyArray<UnstoredEvent>): string | undefined => {
  const held = batch.findLast(({ event }) => event._tag === "Held")?.event
  return held?._tag === "Held" ? held.problem : undefined
}

/** Whether this commit created the execution. Two nodes may start the same one in the same millisecond. */
export const isThatCommit = ({ at, origin, summary }: Commit, { record, origin: found }: OpenedInstance): boolean =>
  record.startedAt === at && found === origin && record.owner === summary.owner && record.reason === summary.reason

/**
 * How many of these events are journaled, counted from the first: an unconfirmed commit may have contained fewer events than the next
 * attempt.
 */
export const countJournaled = (events: ReadonlyArray<EventRecord>, found: ReadonlyArray<EventRecord>): number => {
  const differs = events.findIndex(({ sequence, at, tag, body }, index) => {
    const event = found[index]
    return event?.sequence !== sequence || event.at !== at || event.tag !== tag || event.body !== body
  })
  return differs < 0 ? events.length : differs
}
