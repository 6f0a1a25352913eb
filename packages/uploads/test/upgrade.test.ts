/** A database of the version before: its batches, entries and items are there, and its unfinished batch comes to its end. */
import { OwnTables } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { Uploads } from "../src/index.ts"
import { postgresSteps } from "../src/store/postgres/steps.ts"
import { sqliteSteps } from "../src/store/sqlite/steps.ts"
import { databases, storeLayer } from "./support/Databases.ts"
import { makeDesk, story } from "./support/Desk.ts"

const first = "0001_uploads"

describe.each(databases)("$name", (database) => {
  it.effect("tables of the first version are upgraded, and their rows are those of Hacker News", () =>
    Effect.gen(function* () {
      const { address, file, run } = yield* makeDesk(database, database.fresh)
      const isSqlite = database.name === "SQLite"
      const table = (name: string) => (isSqlite ? `detent_${name}` : `detent.${name}`)
      const yes = isSqlite ? "1" : "true"
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* OwnTables.migrate({
          name: "uploads",
          sqlite: { [first]: sqliteSteps[first] ?? [] },
          postgres: (schema) => ({ [first]: postgresSteps(schema)[first] ?? [] }),
        })
        yield* sql.unsafe(
          `insert into ${table("upload_batches")} (batch_id, file_name, md5, original, created_at, updated_at, stored, failed)
          values ('old', 'old.json', 'abc', ${yes}, 1, 1, 1, 1)`,
        )
        yield* sql.unsafe(
          `insert into ${table("upload_entries")} (batch, item_index, state, hn_id, line, byte_offset, attempts, reason, message)
          values (1, 0, 'stored', 7, 1, 1, 1, null, null), (1, 1, 'failed', 8, 2, 9, 1, 'missing_type', 'it has no type')`,
        )
        const search = isSqlite ? ["", ""] : [", search", ", '''old'':1'::tsvector"]
        yield* sql.unsafe(
          `insert into ${table("items")} (hn_id, type, time, title, batch, item_index${search[0]}) values (7, 'story', 5, 'old', 1, 0${search[1]})`,
        )
      }).pipe(Effect.provide(Layer.fresh(storeLayer(address)) as Layer.Layer<SqlClient, unknown>))
      yield* run(
        Effect.gen(function* () {
          const uploads = yield* Uploads
          expect((yield* uploads.batches()).batches).toMatchObject([{ batchId: "old", kind: "HackerNews", stored: 1, failed: 1 }])
          expect((yield* uploads.items("old")).items).toMatchObject([
            { state: "stored", hnId: 7, id: "7" },
            { state: "failed", hnId: 8, id: "8", problem: { reason: "missing_type" } },
          ])
          expect(Option.getOrThrow(yield* uploads.item(7)).item.title).toBe("old")
          const { batchId } = yield* uploads.start(file("new.json", [story(9)]))
          expect((yield* uploads.finished(batchId)).state).toBe("completed")
        }),
      )
    }),
  )
})
