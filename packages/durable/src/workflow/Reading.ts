/** Reading executions from the journal: one that somebody else has written to, or many at once after a restart. */
import { EventReplayError, PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { withTails } from "../engine/prefetchEvents.ts"
import { untilAnswered } from "../runtime/untilAnswered.ts"
import type { EventRecord, InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { JournalService, OpenedInstance } from "../store/Journal.ts"
import { type ExecutionEvent, readEvent } from "./ExecutionEvent.ts"
import { ExecutionState, isAtWork, type Phase, readSnapshot } from "./ExecutionState.ts"
import type { StoredExit } from "./StoredExit.ts"

/** What reading needs of the engine. */
export interface ReadingFrom {
  readonly journal: JournalService
  readonly owner: string
  isAlive(owner: string): Effect.Effect<boolean>
}

export interface ReadExecution extends OpenedInstance {
  /** After the sequence that was asked for. */
  readonly records: ReadonlyArray<EventRecord>
  readonly events: ReadonlyArray<ExecutionEvent>
  /** Whether another process that is alive runs it. */
  readonly isOwnerAlive: boolean
}

/** An execution whose journal makes no sense to this version: it is held, and listed as such. */
export class Unreadable {
  readonly failure: PersistenceFailed

  constructor(failure: PersistenceFailed) {
    this.failure = failure
  }
}

const pageSize = 1000

/** What was written to an execution since a sequence number; undefined where there is none. */
export const readExecution = (from: ReadingFrom, key: InstanceKey, after: number): Effect.Effect<ReadExecution | Unreadable | undefined> =>
  untilAnswered(
    Effect.gen(function* () {
      const opened = yield* from.journal.open(key)
      return Option.isNone(opened) ? undefined : yield* readOpened(from, from.journal, opened.value, after)
    }),
  )

/** Many at once, whole, by name. */
export const readExecutions = (
  from: ReadingFrom,
  keys: ReadonlyArray<InstanceKey>,
): Effect.Effect<ReadonlyMap<string, ReadExecution | Unreadable>> =>
  untilAnswered(
    Effect.gen(function* () {
      const opened = yield* from.journal.openAll(keys)
      const journal = yield* withTails(from.journal, opened)
      const read = yield* Effect.forEach(
        opened,
        (one) => Effect.map(readOpened(from, journal, one, 0), (found) => [instanceName(one.record), found] as const),
        { concurrency: 16 },
      )
      return new Map(read)
    }),
  )

/** The result of an execution that has ended: its last event, or its snapshot once the journal was pruned. */
export const readResult = (journal: JournalService, { record, snapshot }: OpenedInstance): Effect.Effect<StoredExit> => {
  if (snapshot !== undefined) return Effect.sync(() => readSnapshot(snapshot.body))
  return Effect.map(readEventAt(journal, record), (event) => {
    if (event?._tag === "Ended") return event.exit
    throw new Error(`${record.machine} ${record.id} has ended, but its last event is no result`)
  })
}

/** The event an execution stands at. */
export const readEventAt = (journal: JournalService, record: OpenedInstance["record"]): Effect.Effect<ExecutionEvent | undefined> =>
  Effect.map(untilAnswered(journal.events(record, record.sequence - 1, 1)), ([last]) => (last === undefined ? undefined : readEvent(last)))

/** Where an execution stands that was read whole. */
export const stateOf = (read: ReadExecution): ExecutionState => {
  const state = ExecutionState.restored(read)
  for (const event of read.events) state.apply(event, state.sequence + 1)
  return state
}

const readOpened = (
  from: ReadingFrom,
  journal: JournalService,
  opened: OpenedInstance,
  after: number,
): Effect.Effect<ReadExecution | Unreadable, PersistenceFailed> =>
  Effect.gen(function* () {
    const { record, snapshot } = opened
    const start = Math.max(0, after, snapshot?.sequence ?? 0)
    const records = yield* recordsAfter(journal, record, start, record.sequence)
    const owner = isAtWork(record.tag as Phase) ? record.owner : undefined
    const isOwnerAlive = owner !== undefined && owner !== from.owner && (yield* from.isAlive(owner))
    const events = decode(records, record, start)
    if (!(events instanceof EventReplayError)) return { ...opened, records, events, isOwnerAlive }
    if (record.status === "running") yield* journal.setStatus(record, "held", events.message)
    yield* Effect.logError(events.message)
    return new Unreadable(new PersistenceFailed({ machine: record.machine, id: record.id, operation: "read", cause: events }))
  })

const recordsAfter = (journal: JournalService, key: InstanceKey, after: number, through: number) =>
  Effect.gen(function* () {
    const records: Array<EventRecord> = []
    for (let last = after; last < through; ) {
      const page = yield* journal.events(key, last, Math.min(pageSize, through - last))
      if (page.length === 0) break
      records.push(...page)
      last = page.at(-1)?.sequence ?? through
    }
    return records
  })

const decode = (
  records: ReadonlyArray<EventRecord>,
  { machine, id, tag, sequence }: OpenedInstance["record"],
  after: number,
): ReadonlyArray<ExecutionEvent> | EventReplayError => {
  const events: Array<ExecutionEvent> = []
  const broken = (event: string, at: number, problem: string) =>
    new EventReplayError({ machine, id, state: tag, event, sequence: at, problem })
  for (const record of records) {
    if (record.sequence !== after + events.length + 1) break
    try {
      events.push(readEvent(record))
    } catch (cause) {
      return broken(record.tag, record.sequence, cause instanceof Error ? cause.message : String(cause))
    }
  }
  const next = after + events.length + 1
  return next > sequence ? events : broken("(missing)", next, `event ${next} is missing`)
}
