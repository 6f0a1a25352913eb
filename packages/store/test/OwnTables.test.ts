/** Tables of a program's own in the database of the store. */
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { OwnTables } from "../src/index.ts"
import { postgresLayer } from "./support/Postgres.ts"
import { sqliteLayer } from "./support/Sqlite.ts"

const first = {
  name: "notes",
  sqlite: { "0001_notes": ["create table notes (id integer)"] },
  postgres: () => ({ "0001_notes": ["create table notes (id integer)"] }),
}
const second = {
  ...first,
  sqlite: { ...first.sqlite, "0002_text": ["alter table notes add column words text"] },
  postgres: (schema: string) => ({
    ...first.postgres(),
    "0002_text": ["alter table notes add column words text", `create table ${schema}.more (id integer)`],
  }),
}

describe.each([
  ["SQLite", sqliteLayer],
  ["PostgreSQL", postgresLayer],
])("%s", (_, store) => {
  layer(store)((it) => {
    it.effect("are made step by step, each once, also when several start at once", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* Effect.all([OwnTables.migrate(first), OwnTables.migrate(first)], { concurrency: "unbounded" })
        yield* sql`insert into notes (id) values (1)`
        yield* OwnTables.migrate(second)
        yield* OwnTables.migrate(second)
        expect(yield* sql`select id, words from notes`).toEqual([{ id: 1, words: null }])
      }),
    )
  })
})
