/** A database that has no room left: nothing is half stored, and with room again the batch continues. */
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { writeItemFile } from "../src/generate/index.ts"
import { Uploads } from "../src/index.ts"
import { expectedOf, problemsOf } from "./crash/Proof.ts"
import { hurrying } from "./support/Breaking.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

/** SQLite says the same when the disk is full as when its file may not grow any further. */
const allowPages = (more: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [now] = yield* sql<{ readonly page_count: number }>`pragma page_count`
    yield* sql.unsafe(`pragma max_page_count = ${(now?.page_count ?? 0) + more}`)
  })

const sqlite = databases.filter(({ name }) => name === "SQLite")

it.effect.each(sqlite)("$name: a disk that fills up while a batch extracts", (database) =>
  Effect.gen(function* () {
    const { address, folder, run } = yield* makeDesk(database)
    const path = `${folder}/items.ndjson`
    const { good } = yield* Effect.promise(() => writeItemFile(path, { items: 9000, layout: "lines", bad: { missing_field: 0.01 } }))
    yield* run(
      Effect.gen(function* () {
        const uploads = yield* Uploads
        yield* allowPages(700)
        yield* uploads.start(path, { batchId: "full" })
        const full = yield* hurrying(uploads.finished("full"))
        expect(full).toMatchObject({ state: "failed", batch: { failure: { transition: "start_extraction" } } })
        expect(full.batch.failure?.message).toContain("full")
        expect(full.items.stored + full.items.failed).toBeGreaterThan(0)
        expect(full.items.stored + full.items.failed).toBeLessThan(9000)
        yield* allowPages(100_000)
        yield* uploads.retryBatch("full")
        expect(yield* hurrying(uploads.finished("full"))).toMatchObject({ state: "partially_completed", items: { stored: good } })
      }),
      { storeTimeout: "2 seconds" },
    )
    expect(yield* Effect.promise(() => problemsOf(address, "full", expectedOf(path)))).toEqual([])
  }),
)
