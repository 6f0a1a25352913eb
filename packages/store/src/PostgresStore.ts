/**
 * Instances kept in PostgreSQL: any number of processes, and the database's clock for leases.
 *
 *     Engine.layer().pipe(Layer.provide(PostgresStore.layer({ url: "postgres://user@localhost/orders" })))
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
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
import * as PgClient from "./driver/PgClient.ts"
import { driverOf } from "./driver/PostgresDriver.ts"
import { makeWriter } from "./postgres/CommitWriter.ts"
import { changeNotifications } from "./postgres/changes.ts"
import { DatabaseClock } from "./postgres/DatabaseClock.ts"
import { countFinished } from "./postgres/exchangeFunction.ts"
import { foldMoves } from "./postgres/foldMoves.ts"
import { migrate } from "./postgres/migrate.ts"
import { explainPostgres } from "./postgres/opening.ts"
import { layerListener, listenerOf, PgListener } from "./postgres/PgListener.ts"
import { postgresCommands } from "./postgres/PostgresCommands.ts"
import { readEvents, readJournals } from "./postgres/readEvents.ts"
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

export interface PostgresOptions {
  readonly url: string | Redacted.Redacted
  /** The schema of the tables. Default: `detent`. */
  readonly schema?: string
  /** The most connections it opens. Default: 10. */
  readonly maxConnections?: number
}

/**
 * The connections that stay open while they are idle: one to write, one for the sweeper, one to read. Others are closed after ten
 * seconds, and opening a new one takes longer than its query: opening an instance took 4.6 ms instead of 9.
 */
const keptConnections = 3

/** The largest row that the client reads. PostgreSQL takes JSON of up to 256 MiB in one parameter. */
const maxMessageSize = 256 * 1024 * 1024

/** A server answers in real time, also under a test clock: a jump of that clock must not end an attempt to connect. */
const realTime = Layer.sync(Clock.Clock, () => Clock.Clock.defaultValue())

/** The default message size of a client. */
const defaultMessageSize = 16 * 1024 * 1024

/** An instance is read in one row, with its first state and its snapshot, and some room for its timers. */
const largestBody = (messageSize: number): number => Math.min(64 * 1024 * 1024, Math.floor((messageSize - 1024 * 1024) / 2))

/** Connects, creates or upgrades the tables, and provides the client too, for the caller's own tables in the same database. */
export const layer = ({
  url,
  schema,
  maxConnections = 10,
}: PostgresOptions): Layer.Layer<Journal | Timers | Leases | Commands | LoopHealth | SqlClient | PgClient.PgClient, StoreOpenError> =>
  layerSql(schema === undefined ? {} : { schema }).pipe(
    Layer.provideMerge(
      PgClient.layer({
        url: Redacted.isRedacted(url) ? url : Redacted.make(url),
        minConnections: Math.min(keptConnections, maxConnections),
        maxConnections,
        maxMessageSize,
        applicationName: "detent",
      }).pipe(Layer.provide(realTime)),
    ),
    explaining(explainPostgres(Redacted.isRedacted(url) ? Redacted.value(url) : url)),
  )

/** The same over a client that exists already: of `PgClient`, of Effect's `@effect/sql-pg`, or any other of PostgreSQL. */
export const layerSql = ({
  schema = "detent",
}: {
  readonly schema?: string
} = {}): Layer.Layer<Journal | Timers | Leases | Commands | LoopHealth, MigrationError | SqlError, SqlClient> =>
  Layer.effectContext(
    Effect.gen(function* () {
      if (!/^[a-z_][a-z0-9_]*$/.test(schema))
        return yield* Effect.die(new Error(`${schema} is not a plain name for a schema: use a-z, 0-9 and _`))
      yield* migrate(schema)
      const sql = (yield* SqlClient).withoutTransforms()
      const dialect = postgresDialect(sql, schema, yield* DatabaseClock, yield* readDatabaseId(sql, `${schema}.database`))
      const writer = makeWriter(sql, schema)
      const listener = yield* listenerOf(yield* SqlClient)
      const { subscribe } = listener
      const changed = subscribe === undefined ? undefined : yield* changeNotifications(dialect.sql, subscribe, `${schema}_instances`)
      const listing = yield* makeListing(foldMoves(dialect.sql, schema))
      const maxBodyBytes = largestBody(driverOf(yield* SqlClient)?.config.maxMessageSize ?? defaultMessageSize)
      const commands = yield* postgresCommands(dialect, schema, subscribe, maxBodyBytes)
      return Context.make(Journal, {
        ...sqlJournal(dialect, readEvents(dialect), listing),
        writers: 2,
        maxBodyBytes,
        ...(changed === undefined ? {} : { changed }),
        commit: (commits) => {
          listing.changed()
          return commitBatch(writer.write, commits, maxBodyBytes)
        },
        fork: (from, through, to) => {
          const refused = checkCommits([to], maxBodyBytes).get(0)
          return refused === undefined ? persisting("fork", to)(writer.fork(from, through, to)) : Effect.succeed(refused)
        },
      }).pipe(
        Context.add(Timers, sqlTimers(dialect)),
        Context.add(Leases, sqlLeases(dialect)),
        Context.add(Commands, commands),
        // For domain events on the same client.
        Context.add(PgListener, listener),
      )
    }),
    // The loops of the store report to it too.
  ).pipe(Layer.provide(layerListener), Layer.provideMerge(Layer.fresh(Layer.sync(LoopHealth, LoopHealth.make))))

/** Reads the journals of a database whose tables exist, in transactions that the server lets read only. */
export const layerReader = ({
  url,
  schema = "detent",
}: Omit<PostgresOptions, "maxConnections">): Layer.Layer<JournalReader, StoreOpenError> =>
  Layer.effect(
    JournalReader,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const dialect = postgresDialect(sql, schema, yield* DatabaseClock, yield* readDatabaseId(sql, `${schema}.database`))
      return sqlJournalReader(dialect, readEvents(dialect), readJournals(dialect))
    }),
  ).pipe(
    Layer.provide(
      PgClient.layer({
        url: Redacted.isRedacted(url) ? url : Redacted.make(url),
        maxConnections: 1,
        maxMessageSize,
        applicationName: "detent reader",
      }).pipe(Layer.provide(realTime)),
    ),
    explaining(explainPostgres(Redacted.isRedacted(url) ? Redacted.value(url) : url)),
  )

const postgresDialect = (sql: SqlClient, schema: string, now: typeof DatabaseClock.Service, databaseId: DatabaseId): Dialect => ({
  sql,
  databaseId,
  instances: sql.literal(`${schema}.instances`),
  events: sql.literal(`${schema}.events`),
  snapshots: sql.literal(`${schema}.snapshots`),
  timers: sql.literal(`${schema}.timers`),
  leases: sql.literal(`${schema}.leases`),
  commands: sql.literal(`${schema}.commands`),
  queues: sql.literal(`${schema}.queues`),
  groups: sql.literal(`${schema}.groups`),
  listing: sql.literal(`${schema}.listing`),
  counts: sql.literal(`${schema}.counts`),
  moves: sql.literal(`${schema}.moves`),
  finished: sql.literal(`${schema}.finished`),
  finishing: (update) => sql`with done as (${update}), counted as (${sql.literal(countFinished(schema, "done"))}) select id from done`,
  joinInstances: sql.literal(`join ${schema}.instances`),
  fields: sql.literal(`${schema}.fields`),
  indexFills: sql.literal(`${schema}.index_fills`),
  instanceOfEntry: sql.literal(`cross join lateral (select * from ${schema}.instances where instance = e.instance offset 0) i`),
  flag: (value) => sql.literal(value ? "true" : "false"),
  eachState: (machine, ofState) => {
    const ofMachine = machine === undefined ? sql.literal("true") : sql`c.machine = ${machine}`
    return sql`${sql.literal(`${schema}.counts`)} c cross join lateral (${ofState}) f where ${ofMachine}`
  },
  // As an array: PostgreSQL then estimates few rows, and looks up each by its key.
  orMoved: (listed) =>
    sql`(select unnest(array(${listed} union select unnest(instances) from ${sql.literal(`${schema}.moves`)})) as instance)`,
  insertMoves: (instances) =>
    sql`insert into ${sql.literal(schema)}.moves (instances) values (cast(${`{${instances.join(",")}}`} as bigint[]))`,
  // The keys as one array: as rows of a query, PostgreSQL would compare each key with each updated row.
  updateAndRead: ({ page, update, read }) => sql`
    with page as materialized (select array_agg(instance) as instances, count(*) as size, max(id) as last_id from (${page}) p),
    changed as (${update(sql.literal("any ((select instances from page)::bigint[])"))})
    ${read}`,
  lockInstances: sql.literal("for update of i skip locked"),
  now: now(sql),
  keys: (json) => sql`(select value ->> 0 as machine, value ->> 1 as id from jsonb_array_elements(${json}::jsonb))`,
  lives: (json) => sql`(
    select value ->> 0 as machine, value ->> 1 as id, (value ->> 2)::bigint as started_at from jsonb_array_elements(${json}::jsonb)
  )`,
  claims: (json) =>
    sql`(select (value ->> 0)::bigint as number, (value ->> 1)::integer as claim from jsonb_array_elements(${json}::jsonb))`,
  eventsBySequence: sql.literal(`${schema}.events`),
  within: (_, after, through) => sql`sequence > ${after} and sequence <= ${through}`,
  timersOfInstance: sql.literal(`(
    select coalesce(jsonb_agg(jsonb_build_object('name', t.name, 'entry', t.entry, 'due', t.due)), '[]')::text
    from ${schema}.timers t where t.instance = i.instance and not t.dead
  )`),
  skipLocked: sql.literal("for update of t skip locked"),
  // The same number as shardOf in engine/Routing.ts.
  inShards: ({ count, held }) =>
    sql`('x' || left(md5(i.machine || '/' || i.id), 4))::bit(16)::integer % ${count} = any (cast(${`{${held.join(",")}}`} as integer[]))`,
})
