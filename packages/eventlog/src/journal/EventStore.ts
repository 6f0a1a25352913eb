/**
 * One journal of domain events in a database: its statements, without waiting or retries. Several journals may share the tables;
 * each has its own positions.
 */

import type { Row } from "@detent/store/internal"
import { defectsAsFailures, RowProblem, textOf, wholeOf } from "@detent/store/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import { type Entry, EntryId, type RemoteId } from "effect/eventlog/EventJournal"
import type { SqlError } from "effect/sql/SqlError"
import { isSqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { batchOf } from "./EntryBatch.ts"
import type { EventDialect } from "./EventDialect.ts"
import { EntryUnreadable } from "./errors.ts"
import type { NewEntry, StoredEntry } from "./StoredEntry.ts"
import { idOf, storedEntryOf } from "./StoredEntry.ts"

/** All failures of the store. */
export type StoreError = SqlError | RowProblem | EntryUnreadable

/** The most events of one page, and the bytes after which it ends: memory stays bounded. */
const pageLimit = 500
const pageBytes = 4 * 1024 * 1024

export type EventStore = ReturnType<typeof makeEventStore>

export const makeEventStore = (dialect: EventDialect, journal: string) => {
  const { sql, journals, events, remotes, projections } = dialect
  const columns = sql`position, ${dialect.bytesOfId("id")} as id, ${dialect.bytesOfId("origin")} as origin, event, primary_key, payload`
  const readRow = storedEntryOf(journal)
  const readRows = (rows: ReadonlyArray<Row>): ReadonlyArray<StoredEntry> => rows.map(readRow)

  /** The row is missing only if it was deleted by hand. */
  const positionIn = (rows: ReadonlyArray<Row>): number => {
    const [row] = rows
    if (row === undefined) throw new RowProblem(`the row of journal ${journal} is missing`)
    return wholeOf(row, "position")
  }

  const page = (after: number, condition: Fragment, limit: number = pageLimit) => sql<Row>`
    select ${columns} from (
      select e.*, sum(coalesce(length(payload), 0)) over (order by position) - coalesce(length(payload), 0) as bytes_before
      from (
        select * from ${events} where journal = ${journal} and position > ${after} and ${condition} order by position
        limit ${Math.max(1, Math.min(limit, pageLimit))}
      ) e
    ) e
    where bytes_before < ${pageBytes} order by position`

  return {
    dialect,
    journal,

    /** Creates the tables, and this journal's row. */
    prepare: Effect.andThen(
      dialect.migrate,
      sql`insert into ${journals} (journal, position) values (${journal}, 0) on conflict (journal) do nothing`,
    ),

    /** Runs an effect in a transaction. */
    transaction: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R> => typed(sql.withTransaction(effect)),

    /** Runs an effect in a transaction, one at a time per name. */
    exclusively: <A, E, R>(name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R> =>
      typed(sql.withTransaction(Effect.andThen(dialect.lockName(journal, name), effect))),

    /** Whether this runs inside a transaction on the same database, which may still be rolled back. */
    isInTransaction: Effect.map(Effect.serviceOption(sql.transactionService), ({ _tag }) => _tag === "Some"),

    /** The last position. */
    position: typed(Effect.map(sql<Row>`select position from ${journals} where journal = ${journal}`, positionIn)),

    /** The last position, and how often everything was deleted. */
    state: typed(
      Effect.map(sql<Row>`select position, emptied from ${journals} where journal = ${journal}`, (rows) => ({
        position: positionIn(rows),
        emptied: rows[0] === undefined ? 0 : wholeOf(rows[0], "emptied"),
      })),
    ),

    /** Runs an effect that outlives the current transaction without that transaction's connection. */
    outside: <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.updateContext(effect, (context: Context.Context<R>) => Context.omit(sql.transactionService)(context) as Context.Context<R>),

    /** Locks the journal for other writers until the current transaction ends. Returns the last position. */
    lock: typed(Effect.map(dialect.lock(journal), positionIn)),

    /** Stores events at the next positions, all or none, and returns the last position. */
    append: (entries: ReadonlyArray<NewEntry>) => typed(Effect.map(dialect.append(journal, batchOf(entries)), positionIn)),

    /** Runs an effect when the transaction that it is in has been committed: now, if it is in none. */
    afterCommit: (effect: Effect.Effect<void>) => sql.afterCommit(effect),

    /** Announces the last position to other processes, if the database can. */
    announce: (position: number) => (dialect.announce === undefined ? Effect.void : typed(dialect.announce(journal, position))),

    /** Events after a position, in order; empty at the end of the journal. */
    page: (after: number, limit?: number) => typed(Effect.map(page(after, sql`true`, limit), readRows)),

    /** The same without the events that a remote has sent itself. */
    pageFor: (remote: RemoteId, after: number) =>
      typed(Effect.map(page(after, sql`(origin is null or origin <> ${dialect.idOfHex(Hex.encode(remote))})`), readRows)),

    /** Which of these are stored, as hex. */
    storedIds: (ids: ReadonlyArray<EntryId>) =>
      typed(
        Effect.map(
          sql<Row>`
            select ${dialect.bytesOfId("id")} as id from ${events} where journal = ${journal} and id in (
              select ${dialect.idOfExpression("value ->> 0")} from ${dialect.elements(JSON.stringify(ids.map((id) => [Hex.encode(id)])))}
            )`,
          (rows): ReadonlySet<string> => new Set(rows.map((row) => Hex.encode(idOf(row, "id")))),
        ),
      ),

    /** Those of these that are stored, by their id as hex. */
    byIds: (ids: ReadonlyArray<EntryId>) =>
      typed(
        Effect.map(
          sql<Row>`
            select ${columns} from ${events} where journal = ${journal} and id in (
              select ${dialect.idOfExpression("value ->> 0")} from ${dialect.elements(JSON.stringify(ids.map((id) => [Hex.encode(id)])))}
            )`,
          (rows): ReadonlyMap<string, Entry> => new Map(readRows(rows).map(({ entry }) => [Hex.encode(entry.id), entry])),
        ),
      ),

    /** The latest id; undefined in an empty journal. */
    latestId: typed(
      Effect.map(
        sql<Row>`select ${dialect.bytesOfId("id")} as id from ${events} where journal = ${journal} order by id desc limit 1`,
        ([row]) => (row === undefined ? undefined : EntryId.make(idOf(row, "id"), { disableChecks: true })),
      ),
    ),

    /** Events of the same kind and primary key that have a later id but were stored before. */
    conflicts: (entry: Entry, before: number) =>
      typed(
        Effect.map(
          sql<Row>`
            select ${columns} from ${events}
            where journal = ${journal} and event = ${entry.event} and primary_key = ${entry.primaryKey}
            and id > ${dialect.idOfHex(Hex.encode(entry.id))} and position < ${before}
            order by id`,
          (rows) => readRows(rows).map((stored) => stored.entry),
        ),
      ),

    /** The ids, as hex, of the entries for which an event of the same kind and primary key with a later id is stored. */
    outdated: (entries: ReadonlyArray<Entry>) =>
      typed(
        Effect.map(
          sql<Row>`
            select value ->> 0 as id
            from ${dialect.elements(JSON.stringify(entries.map(({ id, event, primaryKey }) => [Hex.encode(id), event, primaryKey])))}
            where exists (
              select 1 from ${events}
              where journal = ${journal} and event = value ->> 1 and primary_key = value ->> 2 and id > ${dialect.idOfExpression("value ->> 0")}
            )`,
          (rows): ReadonlySet<string> => new Set(rows.map((row) => textOf(row, "id"))),
        ),
      ),

    /** Deletes all events of the same kinds and primary keys. */
    forget: (keys: ReadonlyArray<Entry>) => typed(sql`delete from ${events} where journal = ${journal} and ${isOneOf(dialect, keys)}`),

    /** The first events of these kinds with one primary key, in order. */
    about: (primaryKey: string, kinds: ReadonlyArray<string>, limit: number) =>
      typed(
        Effect.map(
          sql<Row>`
            select ${columns} from ${events}
            where journal = ${journal} and primary_key = ${primaryKey} and ${sql.in("event", kinds)} order by position limit ${limit}`,
          readRows,
        ),
      ),

    /** Replaces the event at a position. */
    replace: (position: number, { id, event, primaryKey, payload }: Entry) =>
      typed(sql`
        update ${events} set id = ${dialect.idOfHex(Hex.encode(id))}, origin = null, event = ${event}, primary_key = ${primaryKey},
          payload = ${dialect.bytes(payload)}
        where journal = ${journal} and position = ${position}`),

    remove: (positions: ReadonlyArray<number>) =>
      typed(sql`delete from ${events} where journal = ${journal} and ${sql.in("position", positions)}`),

    /** The state of a remote: the sequence it sends next, and the position up to which it has everything. */
    remote: (remote: RemoteId) =>
      typed(
        Effect.map(
          sql<Row>`
            select sequence, sent from ${remotes}
            where journal = ${journal} and remote = ${dialect.idOfHex(Hex.encode(remote))}`,
          ([row]) => (row === undefined ? { sequence: 0, sent: 0 } : { sequence: wholeOf(row, "sequence"), sent: wholeOf(row, "sent") }),
        ),
      ),

    /** Neither number ever decreases. */
    advanceRemote: (remote: RemoteId, { sequence, sent }: { readonly sequence: number; readonly sent: number }) =>
      typed(sql`
        insert into ${remotes} as known (journal, remote, sequence, sent)
        values (${journal}, ${dialect.idOfHex(Hex.encode(remote))}, ${sequence}, ${sent})
        on conflict (journal, remote) do update set sequence = ${dialect.greatest}(known.sequence, excluded.sequence),
          sent = ${dialect.greatest}(known.sent, excluded.sent)`),

    /**
     * Deletes everything but the position: no position is used twice, so that no reader takes a new event for an old one.
     * Projections lose their version, so that the next start creates and fills them again.
     */
    destroy: typed(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* dialect.lock(journal)
          for (const table of [events, remotes]) yield* sql`delete from ${table} where journal = ${journal}`
          yield* sql`update ${projections} set version = 0 where journal = ${journal}`
          yield* sql`update ${journals} set emptied = emptied + 1 where journal = ${journal}`
        }),
      ),
    ),
  }
}

/** One text for a kind of event and a primary key. */
export const keyOf = (event: string, primaryKey: string): string => JSON.stringify([event, primaryKey])

const isOneOf = ({ sql, elements }: EventDialect, keys: ReadonlyArray<Entry>): Fragment =>
  sql`(event, primary_key) in (
    select value ->> 0, value ->> 1 from ${elements(JSON.stringify(keys.map(({ event, primaryKey }) => [event, primaryKey])))}
  )`

/** Turns thrown failures of the database and of rows into typed failures. */
export const typed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | StoreError, R> =>
  defectsAsFailures(isStoreError)(effect)

export const isStoreError = (cause: unknown): cause is StoreError =>
  isSqlError(cause) || cause instanceof RowProblem || cause instanceof EntryUnreadable

class Inside<E> {
  readonly error: E
  constructor(error: E) {
    this.error = error
  }
}

/** Runs an effect inside another, such as a transaction, and distinguishes the failures of both. */
export const inside = <A, E, R, E2, E3>(
  effect: Effect.Effect<A, E, R>,
  around: (effect: Effect.Effect<A, Inside<E>, R>) => Effect.Effect<A, Inside<E> | E2, R>,
  onFailure: (error: E2) => Effect.Effect<never, E3>,
): Effect.Effect<A, E | E3, R> =>
  Effect.catch(
    around(Effect.mapError(effect, (error) => new Inside(error))),
    (error): Effect.Effect<never, E | E3> => (error instanceof Inside ? Effect.fail(error.error) : onFailure(error)),
  )
