import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { UploadStore } from "../../src/store/UploadStore.ts"
import { databases, storeLayer } from "../support/Databases.ts"

const [sqlite] = databases

it.effect.each([
  [1, 1],
  [30, 1],
  [1990, 1],
  [2000, 1],
  [2100, 2],
] as const)("%i items that are stored together are %i parts of the search index on SQLite", ([count, parts]) =>
  Effect.gen(function* () {
    const address = yield* (sqlite as (typeof databases)[number]).prepared
    const written = Effect.gen(function* () {
      const { dialect } = yield* UploadStore.open("detent")
      const sql = yield* SqlClient
      const items = Array.from({ length: count }, (_, index) => ({
        batch: 1,
        index,
        item: { id: String(index), time: index, content: "{}", text: `Story ${index} of many`, tokens: [] },
      }))
      const state = sql<{ readonly parts: number; readonly items: number; readonly found: number }>`
        select (select count(distinct segid) from detent_upload_items_search_idx) as parts,
          (select count(*) from detent_upload_items_search_docsize) as items,
          (select count(*) from detent_upload_items_search where detent_upload_items_search match 'many') as found`
      yield* sql.withTransaction(dialect.writeItems("Stories", items, "replace"))
      const [first] = yield* state
      yield* sql.withTransaction(dialect.writeItems("Stories", items, "replace"))
      const [second] = yield* state
      return { first, second }
    })
    const { first, second } = yield* Effect.provide(written, storeLayer(address) as Layer.Layer<SqlClient, unknown>)
    expect(first).toEqual({ parts, items: count, found: count })
    // Stored again, they replace themselves.
    expect(second).toMatchObject({ items: count, found: count })
  }),
)
