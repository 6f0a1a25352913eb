/** Whole journals in bulk, by the same SQL on SQLite and PostgreSQL. Each page is one transaction, so that its parts fit together. */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import type { EventRecord, InstanceKey } from "../contract/Commit.ts"
import type { IdRange, JournalReaderService, JournalSelection, ReadJournal } from "../contract/JournalReader.ts"
import { charactersOf, ReadSize } from "../runtime/ReadSize.ts"
import type { Dialect, EventReading } from "./Dialect.ts"
import { eventOf, openedOrHeld } from "./Records.ts"
import { type Row, textOf, wholeOf } from "./Row.ts"
import { machineRows, openedColumns } from "./SqlJournal.ts"
import { anyMachine, persisting, type RowProblem } from "./StoreFailure.ts"

/** An instance with more events than this is read by itself, so that memory stays bounded. */
const mostEvents = 500

/** A page ends after so many characters of events, for the same reason. */
const pageCharacters = 32_000_000

/** How a database begins a transaction that reads only, and reads the events of many instances by their row keys. */
export interface BulkReading {
  readonly begin: Effect.Effect<unknown, SqlError>
  /** Rows with `instance`, grouped by instance and ascending. */
  readonly journals: (instances: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<Row>, SqlError>
}

export const sqlJournalReader = (dialect: Dialect, reading: EventReading, bulk: BulkReading): JournalReaderService => {
  const { sql } = dialect
  const size = new ReadSize()
  const consistently = <A>(read: Effect.Effect<A, SqlError | RowProblem>): Effect.Effect<A, SqlError | RowProblem> =>
    sql.withTransaction(Effect.andThen(bulk.begin, read))
  return {
    machines: persisting(
      "machines",
      anyMachine,
    )(Effect.map(consistently(machineRows(dialect)), (rows) => rows.map((row) => textOf(row, "machine")).sort())),
    divide: (selection, size) =>
      persisting(
        "divide",
        selection,
      )(
        Effect.map(
          consistently(Effect.all([countRows(dialect, selection), boundaryRows(dialect, selection, size)])),
          ([[counted], bounds]) => {
            const ids = bounds.map((row) => textOf(row, "id"))
            return { count: wholeOf(counted ?? {}, "instances"), ranges: rangesBetween(ids) }
          },
        ),
      ),
    page: (selection, range, limit) =>
      persisting(
        "page",
        selection,
      )(
        consistently(
          Effect.gen(function* () {
            const rows = yield* pageRows(dialect, selection, range, limit)
            const opened = rows.map((row) => ({ instance: wholeOf(row, "instance"), opened: openedOrHeld(row) }))
            const journals = opened.map(({ instance, opened: { origin, snapshot, record, ...rest } }) => {
              const start = origin === undefined ? (snapshot?.sequence ?? 0) : 0
              return { instance, start, journal: { ...rest, origin, snapshot, record }, length: record.sequence - start }
            })
            const read: Array<ReadJournal> = []
            for (let characters = 0; read.length < journals.length && characters < pageCharacters; ) {
              const together = fitting(journals, read.length, size.events)
              const short = together.filter(({ length }) => length <= mostEvents).map(({ instance }) => instance)
              const events = yield* eventsByInstance(bulk, short)
              const all = [...events.values()].flat()
              size.learn(all)
              characters += charactersOf(all)
              for (const { instance, start, journal, length } of together) {
                const own = length > mostEvents ? undefined : (events.get(instance) ?? [])
                read.push({
                  ...journal,
                  start,
                  events: own?.filter(({ sequence }) => sequence > start && sequence <= journal.record.sequence),
                })
              }
              // A large page must not block the event loop.
              yield* Effect.yieldNow
            }
            return { journals: read, next: rows.length < limit && read.length === rows.length ? undefined : read.at(-1)?.record.id }
          }),
        ),
      ),
    open: (key) =>
      persisting(
        "open",
        key,
      )(Effect.map(consistently(openedRow(dialect, key)), ([row]) => (row === undefined ? undefined : openedOrHeld(row)))),
    events: (key, after, limit) =>
      persisting("events", key)(Effect.map(consistently(reading.events(key, after, limit)), (rows) => rows.map(eventOf))),
  }
}

/** The ranges that the ids divide all instances into: the last one is open, for instances that are started meanwhile. */
export const rangesBetween = (ids: ReadonlyArray<string>): ReadonlyArray<IdRange> => {
  const ranges: Array<IdRange> = []
  let after: string | undefined
  for (const through of ids) {
    ranges.push({ ...(after === undefined ? {} : { after }), through })
    after = through
  }
  return [...ranges, after === undefined ? {} : { after }]
}

/** Journals from a position on whose events are read by one statement: as many as have so many events, and at least one. */
const fitting = <J extends { readonly length: number }>(journals: ReadonlyArray<J>, from: number, events: number): ReadonlyArray<J> => {
  let [end, sum] = [from, 0]
  for (; end < journals.length; end++) {
    const { length } = journals[end] as J
    if (length > mostEvents) continue
    if (end > from && sum + length > events) break
    sum += length
  }
  return journals.slice(from, end)
}

const eventsByInstance = (bulk: BulkReading, instances: ReadonlyArray<number>) =>
  Effect.map(instances.length === 0 ? Effect.succeed([]) : bulk.journals(instances), (rows) => {
    const events = new Map<number, Array<EventRecord>>()
    let current = -1
    let list: Array<EventRecord> = []
    for (const row of rows) {
      const instance = wholeOf(row, "instance")
      if (instance !== current) {
        current = instance
        list = []
        events.set(instance, list)
      }
      list.push(eventOf(row))
    }
    return events
  })

/** The condition for instances `i`. */
const selected = ({ sql }: Dialect, { machine, unended, ended }: JournalSelection): Fragment => {
  const either: Array<Fragment> = []
  if (unended) either.push(sql`i.status in ('running', 'held')`)
  if (ended !== undefined) {
    const bounds = [sql`i.status in ('final', 'stopped')`]
    if (ended.since !== undefined) bounds.push(sql`i.updated_at >= ${ended.since}`)
    if (ended.until !== undefined) bounds.push(sql`i.updated_at < ${ended.until}`)
    either.push(sql`(${sql.and(bounds)})`)
  }
  const status = either.length === 0 ? sql.literal("1 = 0") : sql`(${sql.or(either)})`
  return sql`i.machine = ${machine} and ${status}`
}

const countRows = (dialect: Dialect, selection: JournalSelection) =>
  dialect.sql<Row>`select count(*) as instances from ${dialect.instances} i where ${selected(dialect, selection)}`

/** Every id that ends a range of `size` instances. */
const boundaryRows = (dialect: Dialect, selection: JournalSelection, size: number) => dialect.sql<Row>`
  select n.id from (
    select i.id, row_number() over (order by i.id) as place from ${dialect.instances} i where ${selected(dialect, selection)}
  ) n where n.place % ${dialect.sql.literal(String(Math.max(1, Math.floor(size))))} = 0 order by n.id`

const openedRow = (dialect: Dialect, { machine, id }: InstanceKey) => {
  const { sql, instances, snapshots } = dialect
  return sql<Row>`
    select i.instance, ${openedColumns(dialect)}
    from ${instances} i left join ${snapshots} s on s.instance = i.instance
    where i.machine = ${machine} and i.id = ${id}`
}

const pageRows = (dialect: Dialect, selection: JournalSelection, { after, through }: IdRange, limit: number) => {
  const { sql, instances, snapshots } = dialect
  const conditions = [selected(dialect, selection)]
  if (after !== undefined) conditions.push(sql`i.id > ${after}`)
  if (through !== undefined) conditions.push(sql`i.id <= ${through}`)
  return sql<Row>`
    select i.instance, ${openedColumns(dialect)}
    from ${instances} i left join ${snapshots} s on s.instance = i.instance
    where ${sql.and(conditions)} order by i.id limit ${sql.literal(String(Math.max(1, Math.floor(limit))))}`
}
