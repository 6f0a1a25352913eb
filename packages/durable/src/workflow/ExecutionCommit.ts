/** What an execution wants to have stored, as the commit of an instance. */
import type { Commit, EventRecord, InstanceKey, TimerRecord } from "../store/Commit.ts"
import type { OpenedInstance } from "../store/Journal.ts"
import type { Appended } from "./Appending.ts"
import { bodyOf, type ExecutionEvent, tagOf } from "./ExecutionEvent.ts"
import { type ExecutionState, isAtWork, isEnded, type Phase, statusOf } from "./ExecutionState.ts"

export interface Committed {
  readonly key: InstanceKey
  /** As stored. */
  readonly state: ExecutionState
  readonly batch: ReadonlyArray<Appended>
  /** After the batch. */
  readonly phase: Phase
  readonly at: number
  readonly origin: string | undefined
  /** Who runs it from here on, if somebody has to. */
  readonly owner: string | undefined
  /** Of one that has ended: whether somebody waits for that who may not be told. */
  readonly owes: () => boolean
}

const none: ReadonlyArray<never> = []

export const commitOf = ({ key, state, batch, phase, at, origin, owner, owes }: Committed): Commit => {
  const base = Math.max(0, state.sequence)
  const ended = isEnded(phase)
  return {
    machine: key.machine,
    id: key.id,
    expected: state.sequence,
    sequence: base + batch.length,
    at,
    summary: {
      tag: phase,
      status: statusOf(phase),
      // Of one that runs it is listed where.
      reason: isAtWork(phase) ? owner : phase === "Held" ? (problemIn(batch) ?? state.problem) : undefined,
      version: 1,
      resident: isAtWork(phase) || (ended && owes()),
    },
    origin,
    events: batch.map(({ event, at }, index) => recordOf(withOwner(event, owner), base + index + 1, at)),
    snapshot: undefined,
    clearTimers: ended && state.clocks.size > 0 ? "all" : firedClocks(batch),
    setTimers: ended ? none : setClocks(batch, base),
    commands: none,
    fence: undefined,
  }
}

/** Who runs it is known only now: another node may have become the owner since the event was made. */
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
const firedClocks = (batch: ReadonlyArray<Appended>): ReadonlyArray<string> =>
  batch.some(({ event }) => event._tag === "ClockFired")
    ? batch.flatMap(({ event }) => (event._tag === "ClockFired" ? [event.name] : []))
    : none

const setClocks = (batch: ReadonlyArray<Appended>, base: number): ReadonlyArray<TimerRecord> =>
  batch.some(({ event }) => event._tag === "ClockSet")
    ? batch.flatMap(({ event }, index) =>
        event._tag === "ClockSet" ? [{ name: event.name, entry: base + index + 1, due: event.due }] : [],
      )
    : none

const problemIn = (batch: ReadonlyArray<Appended>): string | undefined => {
  const held = batch.findLast(({ event }) => event._tag === "Held")?.event
  return held?._tag === "Held" ? held.problem : undefined
}

/** Whether it was this very commit that made the execution. Two processes may start the same one in the same millisecond. */
export const isThatCommit = ({ at, origin, summary }: Commit, { record, origin: found }: OpenedInstance): boolean =>
  record.startedAt === at && found === origin && (record.owner ?? record.reason) === summary.reason

/** How many of these are journaled, from the first on: an attempt that was doubted may have brought fewer than the next. */
export const countJournaled = (events: ReadonlyArray<EventRecord>, found: ReadonlyArray<EventRecord>): number => {
  const differs = events.findIndex(({ sequence, at, tag, body }, index) => {
    const event = found[index]
    return event?.sequence !== sequence || event.at !== at || event.tag !== tag || event.body !== body
  })
  return differs < 0 ? events.length : differs
}
