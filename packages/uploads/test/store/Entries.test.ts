import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { storedEntries } from "../../src/store/Entries.ts"
import { UploadStore } from "../../src/store/UploadStore.ts"
import { databases, storeLayer } from "../support/Databases.ts"

const [sqlite] = databases

it.effect("looking for ids reads an index, not all entries of the batch", () =>
  Effect.gen(function* () {
    const address = yield* (sqlite as (typeof databases)[number]).fresh
    const plan = Effect.gen(function* () {
      const store = yield* UploadStore.open("detent")
      const sql = yield* SqlClient
      const [text, parameters] = storedEntries(store, 1, ["a", "b"]).compile()
      return yield* sql.unsafe<{ readonly detail: string }>(`explain query plan ${text}`, parameters)
    })
    const details = yield* Effect.provide(plan, storeLayer(address) as Layer.Layer<SqlClient, unknown>)
    expect(details.map(({ detail }) => detail)).toContainEqual(
      expect.stringContaining("detent_upload_entries_stored (batch=? AND item_id=?)"),
    )
  }),
)
