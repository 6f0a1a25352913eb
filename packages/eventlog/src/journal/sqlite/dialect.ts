/** Domain events on SQLite. */

import type { Row } from "@detent/store/internal"
import { wholeOf } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { EventDialect } from "../EventDialect.ts"
import { migrate } from "./migrate.ts"

export const sqliteEvents = (sql: SqlClient): EventDialect => {
  // A write that changes nothing waits for the write lock and takes it; a read would not.
  const lock = (journal: string) =>
    sql<Row>`update detent_domain_journals set position = position where journal = ${journal} returning position`
  return {
    sql,
    journals: sql.literal("detent_domain_journals"),
    events: sql.literal("detent_domain_events"),
    remotes: sql.literal("detent_domain_remotes"),
    projections: sql.literal("detent_domain_projections"),
    migrate,
    bytesOfId: (column) => sql.literal(column),
    idOfHex: (hex) => sql`unhex(${hex})`,
    bytes: (value) => sql`coalesce(${value}, x'')`,
    elements: (json) => sql`json_each(${json})`,
    idOfExpression: (expression) => sql.literal(`unhex(${expression})`),
    lock,
    lockName: (journal) => lock(journal),
    append: (journal, { count, rows, payloads }) =>
      sql.withTransaction(
        Effect.gen(function* () {
          const counted = yield* sql<Row>`
          update detent_domain_journals set position = position + ${count} where journal = ${journal} returning position`
          const [row] = counted
          if (row === undefined) return counted
          yield* sql`
          insert into detent_domain_events (journal, position, id, origin, event, primary_key, payload)
          select ${journal}, ${wholeOf(row, "position") - count} + key + 1, unhex(value ->> 0), unhex(value ->> 3),
            value ->> 1, value ->> 2, substr(${payloads}, value ->> 4, value ->> 5)
          from json_each(${rows})`
          return counted
        }),
      ),
    announce: undefined,
    lockProjection: (journal, name) => sql<Row>`
      update detent_domain_projections set position = position where journal = ${journal} and name = ${name} returning version, position`,
    tableExists: (table) =>
      Effect.map(sql`select 1 from sqlite_master where type = 'table' and name = ${table}`, (rows) => rows.length > 0),
    greatest: sql.literal("max"),
  }
}
