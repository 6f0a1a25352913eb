/**
 * The tables of runs: in the schema `detent` on PostgreSQL, under the same names without it on SQLite. Migrations run when the tables are
 * first needed, forward only. Tables that an earlier version created in the first schema of the search path are moved.
 */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/unstable/sql/Migrator"
import { SqlClient } from "effect/unstable/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/unstable/sql/SqlError"
import type { Fragment } from "effect/unstable/sql/Statement"

const schema = "detent"

/** The name of a table in statements. */
export const tableIn = (sql: SqlClient, name: string): Fragment =>
  sql.onDialectOrElse({ pg: () => sql.literal(`${schema}.${name}`), orElse: () => sql.literal(name) })

export const runTables = (sql: SqlClient) => ({
  runs: tableIn(sql, "extraction_runs"),
  checkpoints: tableIn(sql, "run_checkpoints"),
  artifacts: tableIn(sql, "run_artifacts"),
  graphs: tableIn(sql, "batch_artifacts"),
  answers: tableIn(sql, "model_answers"),
})

/** Small artifacts are stored in their row: a file for each would take a disk sync for each. */
const initial = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`create table ${runTables(sql).runs} (
    run_id text primary key,
    status text not null,
    status_version integer not null,
    batch_id text,
    document_id text not null,
    attempt integer not null,
    ontology_hash text not null,
    schema_version text not null,
    input_uri text not null,
    input_hash text,
    config_json text not null,
    created_at bigint not null,
    started_at bigint,
    completed_at bigint,
    error_message text
  )`
  yield* sql`create index extraction_runs_batch on ${runTables(sql).runs} (batch_id, document_id)`
  yield* sql`create table ${runTables(sql).checkpoints} (
    run_id text not null,
    batch_index integer not null,
    result_json text not null,
    entity_snapshot_path text not null,
    entity_snapshot_hash text not null,
    created_at bigint not null,
    primary key (run_id, batch_index)
  )`
  yield* sql`create table ${runTables(sql).artifacts} (
    run_id text not null,
    artifact_key text not null,
    content_path text not null,
    content_hash text not null,
    content text,
    created_at bigint not null,
    primary key (run_id, artifact_key)
  )`
  yield* sql`create table ${runTables(sql).graphs} (
    run_id text not null,
    batch_index integer not null,
    turtle_path text not null,
    turtle_hash text not null,
    chunk_count integer not null,
    created_at bigint not null,
    primary key (run_id, batch_index)
  )`
})

/** Contents of medium size, compressed with Zstandard: a graph shrinks to a tenth, in the write-ahead log and in the database file. */
const packed = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql.onDialectOrElse({
    pg: () => sql`alter table ${runTables(sql).artifacts} add column packed bytea`,
    orElse: () => sql`alter table ${runTables(sql).artifacts} add column packed blob`,
  })
})

/** Answers of models that no checkpoint covers yet. The checkpoint of their chunks removes them. */
const answers = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`create table ${runTables(sql).answers} (
    run_id text not null,
    chunk_index integer not null,
    step text not null,
    input_hash text not null,
    content text not null,
    calls integer not null,
    input_tokens bigint not null,
    output_tokens bigint not null,
    cost double precision,
    created_at bigint not null,
    primary key (run_id, chunk_index, step)
  )`
})

/** The title of a document, beside the hash of its bytes. */
const titled = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`alter table ${runTables(sql).runs} add column title text`
})

/** The language of a document, and why its prose was not read. */
const languages = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { runs } = runTables(sql)
  yield* sql`alter table ${runs} add column language text`
  yield* sql`alter table ${runs} add column unread text`
})

const migrations = "knowledge_migrations"

/** The key of the advisory lock that all migrations of the database take: "detent" in ASCII. */
const lockKey = 0x646574656e74

/**
 * Moves tables into the schema, if an earlier version created them elsewhere. `isOurs` tells whether it did: another program may have
 * tables of the same name.
 */
export const moveTables = (names: ReadonlyArray<string>, isOurs: (sql: SqlClient) => Effect.Effect<boolean, SqlError>) =>
  Effect.flatMap(SqlClient, (sql) =>
    sql.onDialectOrElse({
      pg: () =>
        Effect.gen(function* () {
          yield* sql`select pg_advisory_xact_lock(${lockKey}::bigint)::text`
          yield* sql.unsafe(`create schema if not exists ${schema}`)
          if (!(yield* isOurs(sql))) return
          for (const name of names) {
            const found = yield* sql`select 1 where to_regclass(${name}) is not null and to_regclass(${`${schema}.${name}`}) is null`
            if (found.length > 0) yield* sql.unsafe(`alter table ${name} set schema ${schema}`)
          }
        }).pipe(sql.withTransaction),
      orElse: () => Effect.void,
    }),
  )

const isThere = (sql: SqlClient, name: string) =>
  Effect.map(sql`select 1 where to_regclass(${name}) is not null`, (rows) => rows.length > 0)

const moveRunTables = moveTables(
  ["extraction_runs", "run_checkpoints", "run_artifacts", "batch_artifacts", "model_answers", migrations],
  (sql) => isThere(sql, migrations),
)

/** Migrates the tables. Two processes may start at the same time: the migrator locks its table, which has to exist first. */
export const migrateRuns: Effect.Effect<void, Migrator.MigrationError | SqlError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* moveRunTables
  const table = tableIn(sql, migrations)
  yield* sql`create table if not exists ${table} (
    migration_id integer primary key not null,
    created_at timestamp not null default current_timestamp,
    name varchar(255) not null
  )`.pipe(
    // `if not exists` does not keep two processes from creating the table concurrently; the retry of the loser finds it.
    Effect.retry({ times: 5 }),
  )
  const lock = sql.onDialectOrElse({
    pg: () => sql`lock table ${table} in access exclusive mode`,
    orElse: () => sql`delete from ${table} where migration_id < 0`,
  })
  yield* sql.withTransaction(
    Effect.andThen(
      lock,
      Migrator.make({})({
        loader: Migrator.fromRecord({
          "0001_runs": initial,
          "0002_packed": packed,
          "0003_answers": answers,
          "0004_titled": titled,
          "0005_languages": languages,
        }),
        table: sql.onDialectOrElse({ pg: () => `${schema}.${migrations}`, orElse: () => migrations }),
      }),
    ),
  )
}).pipe(
  Effect.catchDefect((defect) =>
    isSqlError(defect) || defect instanceof Migrator.MigrationError ? Effect.fail(defect) : Effect.die(defect),
  ),
)
