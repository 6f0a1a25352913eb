/** Reads executions from the journal: one that another node has written to, or many at once after a restart. */
import { EventReplayError, PersistenceFailed } from "@detent/machine"
import type { EventRecord, InstanceKey, InstanceRecord, JournalService, OpenedInstance } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { prefetchEvents } from "../live/prefetchEvents.ts"
import { type ExecutionEvent, readEvent } from "./ExecutionEvent.ts"
import { ExecutionState, isAtWork, type Phase, readSnapshot } from "./ExecutionState.ts"
import type { StoredExit } from "./StoredExit.ts"

/** The parts of the engine that reading uses. */
export interface ReadingFrom {
  readonly journal: JournalService
  readonly owner: string
  isAlive(owner: string, key: InstanceKey): Effect.Effect<boolean>
}

export interface ReadExecution extends OpenedInstance {
  /** The events after the requested sequence number. */
  readonly records: ReadonlyArray<EventRecord>
  readonly events: ReadonlyArray<ExecutionEvent>
  /** The state after all its events; undefined if the first events were not read. */
  readonly state: ExecutionState | undefined
  /** Whether another node that is alive runs it. */
  readonly isOwnerAlive: boolean
}

/** An execution whose journal this version cannot read. A running one is held and listed as such, unless another node runs it. */
export class Unreadable {
  readonly failure: PersistenceFailed

  constructor(failure: PersistenceFailed) {
    this.failure = failure
  }
}

export type Read = ReadExecution | Unreadable | undefined

const pageSize = 1000

/** Reads an execution with its events after a sequence number; undefined if it does not exist. */
export const readExecution = (from: ReadingFrom, key: InstanceKey, after: number): Effect.Effect<Read, PersistenceFailed> =>
  Effect.gen(function* () {
    const opened = yield* from.journal.open(key)
    return Option.isNone(opened) ? undefined : yield* readOpened(from, from.journal, opened.value, after)
  })

/**
 * Reads many executions with all their events, in the order given. If reading them together fails, each is read by itself, so that an
 * unreadable one fails alone.
 */
export const readExecutions = (
  from: ReadingFrom,
  keys: ReadonlyArray<InstanceKey>,
): Effect.Effect<ReadonlyArray<Exit.Exit<Read, PersistenceFailed>>, PersistenceFailed> =>
  eachAlone(readTogether(from, keys), keys, (key) => readExecution(from, key, 0))

/** Looks up many executions without their events, in the order given. One that cannot be read fails alone. */
export const openExecutions = (
  journal: JournalService,
  keys: ReadonlyArray<InstanceKey>,
): Effect.Effect<ReadonlyArray<Exit.Exit<OpenedInstance | undefined, PersistenceFailed>>, PersistenceFailed> =>
  eachAlone(
    Effect.map(journal.openAll(distinct(keys)), (all) => {
      const byName = new Map(all.map((opened) => [instanceName(opened.record), opened]))
      return keys.map((key) => Exit.succeed(byName.get(instanceName(key))))
    }),
    keys,
    (key) => Effect.map(journal.open(key), Option.getOrUndefined),
  )

const readTogether = (from: ReadingFrom, keys: ReadonlyArray<InstanceKey>) =>
  Effect.gen(function* () {
    const opened = yield* from.journal.openAll(distinct(keys))
    const { journal } = yield* prefetchEvents(from.journal, opened)
    const read = yield* Effect.forEach(
      opened,
      (one) => Effect.map(Effect.exit(readOpened(from, journal, one, 0)), (exit) => [instanceName(one.record), exit] as const),
      { concurrency: 16 },
    )
    const byName = new Map(read)
    return keys.map((key) => byName.get(instanceName(key)) ?? Exit.succeed(undefined))
  })

const eachAlone = <A>(
  together: Effect.Effect<ReadonlyArray<Exit.Exit<A, PersistenceFailed>>, PersistenceFailed>,
  keys: ReadonlyArray<InstanceKey>,
  alone: (key: InstanceKey) => Effect.Effect<A, PersistenceFailed>,
) =>
  Effect.catchCause(together, (cause) =>
    keys.length === 1 || Cause.hasInterruptsOnly(cause)
      ? Effect.failCause(cause)
      : Effect.forEach(keys, (key) => Effect.exit(alone(key)), { concurrency: 16 }),
  )

const distinct = (keys: ReadonlyArray<InstanceKey>): ReadonlyArray<InstanceKey> => [
  ...new Map(keys.map((key) => [instanceName(key), key])).values(),
]

/** The result of an execution that has ended: its last event, or its snapshot once the journal was pruned. */
export const readResult = (
  journal: JournalService,
  { record, snapshot }: OpenedInstance,
): Effect.Effect<StoredExit, PersistenceFailed | EventReplayError> =>
  snapshot === undefined
    ? Effect.flatMap(readEventAt(journal, record), (event) =>
        event?._tag === "Ended" ? Effect.succeed(event.exit) : Effect.fail(brokenAt(record, record.tag, "its last event is not a result")),
      )
    : Effect.try({ try: () => readSnapshot(snapshot.body), catch: (cause) => brokenAt(record, "(snapshot)", problemOf(cause)) })

/** The last event of an execution. */
export const readEventAt = (
  journal: JournalService,
  record: InstanceRecord,
): Effect.Effect<ExecutionEvent | undefined, PersistenceFailed | EventReplayError> =>
  Effect.flatMap(journal.events(record, record.sequence - 1, 1), ([last]) =>
    last === undefined
      ? Effect.undefined
      : Effect.try({ try: () => readEvent(last), catch: (cause) => brokenAt(record, last.tag, problemOf(cause)) }),
  )

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
    const isOwnerAlive = owner !== undefined && owner !== from.owner && (yield* from.isAlive(owner, record))
    const decoded = decode(opened, records, start)
    if (!(decoded instanceof EventReplayError)) return { ...opened, records, ...decoded, isOwnerAlive }
    // A node that is alive can read what it runs. A held row names no owner: if that node dies, no other takes the execution over.
    if (record.status === "running" && !isOwnerAlive) yield* journal.setStatus(record, "held", decoded.message)
    yield* Effect.logError(decoded.message)
    return new Unreadable(new PersistenceFailed({ machine: record.machine, id: record.id, operation: "read", cause: decoded }))
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
  opened: OpenedInstance,
  records: ReadonlyArray<EventRecord>,
  after: number,
): Pick<ReadExecution, "events" | "state"> | EventReplayError => {
  const { record, snapshot } = opened
  const events: Array<ExecutionEvent> = []
  for (const one of records) {
    if (one.sequence !== after + events.length + 1) break
    try {
      events.push(readEvent(one))
    } catch (cause) {
      return broken(record, one.tag, one.sequence, problemOf(cause))
    }
  }
  const next = after + events.length + 1
  if (next <= record.sequence) return broken(record, "(missing)", next, `event ${next} is missing`)
  if (after !== (snapshot?.sequence ?? 0)) return { events, state: undefined }
  try {
    const state = ExecutionState.restored(opened)
    for (const event of events) state.apply(event, state.sequence + 1)
    return { events, state }
  } catch (cause) {
    return broken(record, "(start)", 0, problemOf(cause))
  }
}

const broken = ({ machine, id, tag }: InstanceRecord, event: string, sequence: number, problem: string): EventReplayError =>
  new EventReplayError({ machine, id, state: tag, event, sequence, problem })

const brokenAt = (record: InstanceRecord, event: string, problem: string): EventReplayError =>
  broken(record, event, record.sequence, problem)

const problemOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
