/**
 * Instances kept in a SQLite file: no server. Best for one process; several may use the same file.
 *
 *     Engine.layer().pipe(Layer.provide(SqliteStore.layer({ filename: "orders.db" })))
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Commands } from "./contract/Commands.ts"
import { checkCommits } from "./contract/CommitCheck.ts"
import type { DatabaseId } from "./contract/DatabaseId.ts"
import { Journal } from "./contract/Journal.ts"
import { JournalReader } from "./contract/JournalReader.ts"
import { Leases } from "./contract/Leases.ts"
import { explaining, type StoreOpenError } from "./contract/StoreNotOpened.ts"
import { Timers } from "./contract/Timers.ts"
import * as SqliteClient from "./driver/SqliteClient.ts"
import { LoopHealth } from "./runtime/BackgroundLoop.ts"
import { commitBatch } from "./sql/commitBatch.ts"
import type { Dialect } from "./sql/Dialect.ts"
import { makeListing } from "./sql/Listing.ts"
import { readDatabaseId } from "./sql/Records.ts"
import { sqlJournal } from "./sql/SqlJournal.ts"
import { sqlJournalReader } from "./sql/SqlJournalReader.ts"
import { sqlLeases } from "./sql/SqlLeases.ts"
import { sqlTimers } from "./sql/SqlTimers.ts"
import { persisting } from "./sql/StoreFailure.ts"
import { CurrentFileGuard } from "./sqlite/FileGuard.ts"
import { foldMoves } from "./sqlite/foldMoves.ts"
import { migrate } from "./sqlite/migrate.ts"
import { explainSqlite, isBusy, makeFile, makeFolder } from "./sqlite/opening.ts"
import { RowKeys } from "./sqlite/RowKeys.ts"
import { readEvents, readJournals, within } from "./sqlite/readEvents.ts"
import { sqliteCommands } from "./sqlite/SqliteCommands.ts"
import { makeTransact, tellsChanges } from "./sqlite/transaction.ts"
import { busyTimeout, layer as waitingClient } from "./sqlite/WaitingClient.ts"
import { writeCommits, writeFork } from "./sqlite/writeCommits.ts"

export interface SqliteOptions {
  readonly filename: string
  /**
   * `full` loses nothing when the power fails. `normal` may lose the latest commits, and stores 48,000 transitions/s in batches of
   * 50, against 37,000. Default: `full`.
   */
  readonly synchronous?: "full" | "normal"
}

/**
 * Opens the file, creates it and its folder if they are missing, creates or upgrades the tables, and provides the client too, for
 * the caller's own tables.
 */
export const layer = ({
  filename,
  synchronous = "full",
}: SqliteOptions): Layer.Layer<Journal | Timers | Leases | Commands | LoopHealth | SqlClient | SqliteClient.SqliteClient, StoreOpenError> =>
  layerSql.pipe(
    Layer.provideMerge(Layer.effectDiscard(configure(synchronous)).pipe(Layer.provideMerge(waitingClient(filename)))),
    Layer.provide(Layer.effectDiscard(Effect.andThen(makeFolder(filename), makeFile(filename)))),
    explaining(explainSqlite(filename)),
  )

/** The same over a client that exists already. Built anew wherever it is used: two files in one program are two stores. */
export const layerSql: Layer.Layer<Journal | Timers | Leases | Commands | LoopHealth, MigrationError | SqlError, SqlClient> = Layer.fresh(
  Layer.effectContext(
    Effect.gen(function* () {
      const sql = (yield* SqlClient).withoutTransforms()
      yield* waitForLocks(sql)
      yield* migrate
      const dialect = sqliteDialect(sql, yield* readDatabaseId(sql, "detent_database"))
      const transact = makeTransact(sql)
      const commands = yield* sqliteCommands(dialect, transact, maxBodyBytes)
      const listing = yield* makeListing(foldMoves(sql, transact))
      const keys = (yield* tellsChanges(sql)) ? new RowKeys() : undefined
      return Context.make(Journal, {
        ...sqlJournal(dialect, readEvents(dialect), listing),
        maxBodyBytes,
        commit: (commits) => {
          listing.changed()
          return commitBatch((batch) => transact((run) => writeCommits(run, keys, batch)), commits, maxBodyBytes)
        },
        fork: (from, through, to) => {
          const refused = checkCommits([to], maxBodyBytes).get(0)
          if (refused !== undefined) return Effect.succeed(refused)
          return persisting("fork", to)(transact((run) => writeFork(run, keys, from, through, to)))
        },
      }).pipe(
        Context.add(Timers, sqlTimers(dialect)),
        Context.add(Leases, sqlLeases(dialect)),
        Context.add(Commands, commands),
        Context.add(LoopHealth, LoopHealth.make()),
      )
    }),
  ),
)

/** Reads the journals of a file that exists, on a connection that cannot write. */
export const layerReader = (filename: string): Layer.Layer<JournalReader, StoreOpenError> =>
  Layer.effect(
    JournalReader,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* waitForLocks(sql)
      const dialect = sqliteDialect(sql, yield* readDatabaseId(sql, "detent_database"))
      return sqlJournalReader(dialect, readEvents(dialect), readJournals(dialect))
    }),
  ).pipe(Layer.provide(SqliteClient.layer({ filename, readonly: true, disableWAL: true })), explaining(explainSqlite(filename)))

/** A client of the user that does not wait for locks would fail while another process writes. */
const waitForLocks = (sql: SqlClient) =>
  Effect.flatMap(sql<{ readonly timeout: number }>`pragma busy_timeout`, ([row]) =>
    row?.timeout === 0 ? Effect.asVoid(sql`pragma busy_timeout = 5000`) : Effect.void,
  )

/** SQLite holds texts of a billion bytes, JavaScript strings of half as many characters. This is well below both. */
export const maxBodyBytes = 256 * 1024 * 1024

/** Switching to WAL fails immediately, regardless of busy_timeout, while another process does the same. */
const configure = (synchronous: "full" | "normal") =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`pragma busy_timeout = ${sql.literal(String(busyTimeout))}`
    // Unprepared: once busy, the prepared statement stayed busy forever after another process had switched the file.
    const switched = Effect.scoped(
      Effect.flatMap(sql.reserve, (connection) => connection.executeUnprepared("pragma journal_mode = wal", [], undefined)),
    )
    yield* Effect.retry(switched, { schedule: Schedule.spaced("50 millis"), times: 100, while: isBusy })
    Option.map(yield* CurrentFileGuard, (guard) => guard.arm())
    yield* sql`pragma synchronous = ${sql.literal(synchronous)}`
    // A transaction of some thousand rows is larger than the default cache of 2 MB, and would be written out and read back before
    // it ends. With 8 MB an uploaded item takes 16 µs of SQLite's CPU in inserts and commit, against 19 to 20; with 32 MB no less.
    yield* sql`pragma cache_size = -8000`
    // The rollback data of a statement of many rows, or of a nested transaction, stays in memory. In a file it made up 750 of the
    // 3,560 bytes that were written for an uploaded item.
    yield* sql`pragma temp_store = memory`
  })

const sqliteDialect = (sql: SqlClient, databaseId: DatabaseId): Dialect => ({
  sql,
  databaseId,
  instances: sql.literal("detent_instances"),
  events: sql.literal("detent_events"),
  snapshots: sql.literal("detent_snapshots"),
  timers: sql.literal("detent_timers"),
  leases: sql.literal("detent_leases"),
  commands: sql.literal("detent_commands"),
  queues: sql.literal("detent_queues"),
  groups: sql.literal("detent_groups"),
  listing: sql.literal("detent_listing"),
  counts: sql.literal("detent_counts"),
  moves: sql.literal("detent_moves"),
  finished: sql.literal("detent_finished"),
  // A trigger counts finished commands.
  finishing: (update) => update,
  joinInstances: sql.literal("cross join detent_instances"),
  fields: sql.literal("detent_fields"),
  indexFills: sql.literal("detent_index_fills"),
  instanceOfEntry: sql.literal("cross join detent_instances i on i.instance = e.instance"),
  flag: (value) => sql.literal(value ? "1" : "0"),
  orMoved: (listed) => sql`(${listed} union select m.value from detent_moves, json_each(detent_moves.instances) m)`,
  insertMoves: (instances) => sql`insert into detent_moves (instances) values (${JSON.stringify(instances)})`,
  lockInstances: sql.literal(""),
  // A test clock may stand between two milliseconds.
  now: Effect.map(Clock.currentTimeMillis, (now) => sql`${Math.floor(now)}`),
  keys: (json) => sql`(select value ->> 0 as machine, value ->> 1 as id from json_each(${json}))`,
  lives: (json) => sql`(select value ->> 0 as machine, value ->> 1 as id, value ->> 2 as started_at from json_each(${json}))`,
  claims: (json) => sql`(select value ->> 0 as number, value ->> 1 as claim from json_each(${json}))`,
  eventsBySequence: sql.literal("detent_events indexed by detent_events_sequence"),
  within: within(sql),
  timersOfInstance: sql.literal(`(
    select json_group_array(json_object('name', t.name, 'entry', t.entry, 'due', t.due))
    from detent_timers t where t.instance = i.instance and not t.dead
  )`),
  skipLocked: sql.literal(""),
})
