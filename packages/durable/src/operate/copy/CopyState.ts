/** The progress of a copy, stored in the target: each page is written in one transaction with the key of its last row. */

import { OwnTables } from "@detent/store"
import { flagOf, optionalTextOf, type Row, textOf, wholeOf } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { MigrationError } from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { KeyValues } from "./TablePair.ts"

/** Tables with the progress of a copy. They are not copied themselves. */
export const ownTables = ["detent.copies", "detent.copied_parts"]

const tables: OwnTables.OwnTables = {
  name: "copies",
  sqlite: {
    "0001_copies": [
      "create table detent_copies (source text primary key, started_at integer not null, completed_at integer) without rowid",
      `create table detent_copied_parts (
        part text primary key, position text, copied integer not null default 0, done integer not null default 0
      ) without rowid`,
    ],
  },
  postgres: (schema) => ({
    "0001_copies": [
      `create table ${schema}.copies (source text primary key, started_at bigint not null, completed_at bigint)`,
      `create table ${schema}.copied_parts (
        part text primary key, position text, copied bigint not null default 0, done boolean not null default false
      )`,
    ],
  }),
}

export interface StoredCopy {
  readonly source: string
  readonly completedAt: number | undefined
}

export interface PartState {
  readonly position: KeyValues | undefined
  readonly copied: number
  readonly isDone: boolean
}

export interface CopyState {
  readonly copy: ReturnType<typeof storedCopy>
  readonly begin: (source: string) => Effect.Effect<unknown, SqlError>
  readonly complete: Effect.Effect<unknown, SqlError>
  readonly parts: Effect.Effect<ReadonlyMap<string, PartState>, SqlError>
  readonly advance: (part: string, state: PartState) => Effect.Effect<unknown, SqlError>
}

/** The copy into this database that was started, if any. Creates no tables. */
export const storedCopy = (client: SqlClient): Effect.Effect<StoredCopy | undefined, SqlError> =>
  Effect.gen(function* () {
    const sql = client.withoutTransforms()
    const { exists, copies } = sql.onDialectOrElse({
      pg: () => ({ exists: "select 1 where to_regclass('detent.copies') is not null", copies: "detent.copies" }),
      orElse: () => ({ exists: "select 1 from sqlite_master where name = 'detent_copies'", copies: "detent_copies" }),
    })
    if ((yield* sql.unsafe(exists)).length === 0) return undefined
    const [row] = yield* sql.unsafe<Row>(`select source, completed_at from ${copies}`)
    if (row === undefined) return undefined
    return { source: textOf(row, "source"), completedAt: row["completed_at"] === null ? undefined : wholeOf(row, "completed_at") }
  })

export const openCopyState = (client: SqlClient): Effect.Effect<CopyState, MigrationError | SqlError> =>
  Effect.gen(function* () {
    yield* Effect.provideService(OwnTables.migrate(tables), SqlClient, client)
    const sql = client.withoutTransforms()
    const isPostgres = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
    const [copies, parts] = ["copies", "copied_parts"].map((name) => sql.literal(isPostgres ? `detent.${name}` : `detent_${name}`))
    if (copies === undefined || parts === undefined) return yield* Effect.die(new Error("both tables have a name"))
    return {
      copy: storedCopy(client),
      begin: (source) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => sql`insert into ${copies} (source, started_at) values (${source}, ${now})`),
      complete: Effect.flatMap(Clock.currentTimeMillis, (now) => sql`update ${copies} set completed_at = ${now}`),
      parts: Effect.map(sql<Row>`select part, position, copied, done from ${parts}`, (rows) => new Map(rows.map(partOf))),
      advance: (part, { position, copied, isDone }) => {
        const done = isPostgres ? isDone : Number(isDone)
        return sql`insert into ${parts} (part, position, copied, done)
          values (${part}, ${position === undefined ? null : JSON.stringify(position)}, ${copied}, ${done})
          on conflict (part) do update set position = excluded.position, copied = excluded.copied, done = excluded.done`
      },
    }
  })

const partOf = (row: Row): readonly [string, PartState] => {
  const position = optionalTextOf(row, "position")
  return [
    textOf(row, "part"),
    {
      position: position === undefined ? undefined : (JSON.parse(position) as KeyValues),
      copied: wholeOf(row, "copied"),
      isDone: flagOf(row, "done"),
    },
  ]
}
