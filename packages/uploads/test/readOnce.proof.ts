/** A file is read and parsed once, as far as its items may be kept in memory, with the same outcome. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { writeItemFile } from "../src/generate/index.ts"
import { Posts } from "../src/generate/Post.ts"
import { Uploads } from "../src/index.ts"
import { databases } from "./support/Databases.ts"
import { makeDesk } from "./support/Desk.ts"

const items = 3000

/** How often an item is checked is the same on every database. */
const casesOn = (database: string) => (database === "SQLite" ? cases : cases.filter(([, keptBytes]) => keptBytes === 800_000))

const cases: ReadonlyArray<readonly [kept: string, keptBytes: number, checks: number]> = [
  ["all of it is kept", 20_000_000, items],
  ["it is larger than what may be kept", 800_000, 2 * items],
  ["nothing is kept", 0, 2 * items],
]

describe.each(databases)("$name", (database) => {
  it.effect.each(casesOn(database.name))("where %s, every item is checked as often as it is read", ([, keptBytes, expected]) =>
    Effect.gen(function* () {
      const { folder, run } = yield* makeDesk(database)
      for (const gzip of [false, true]) {
        const path = `${folder}/items-${gzip}`
        const written = yield* Effect.promise(() => writeItemFile(path, { items, gzip, bad: { duplicate: 0.01 }, seed: gzip ? 1 : 2 }))
        let checked = 0
        yield* run(
          Effect.gen(function* () {
            const uploads = yield* Uploads
            const { batchId } = yield* uploads.start(path)
            expect(yield* uploads.finished(batchId)).toMatchObject({
              state: "partially_completed",
              items: { total: items, stored: written.good, failed: items - written.good },
            })
            expect(checked).toBe(expected)
            // The text of a duplicate is kept for a retry, though it was a good item.
            yield* uploads.retryFailed(batchId)
            const retried = yield* uploads.finished(batchId)
            expect(retried.batch.errorSummary?.groups).toMatchObject([{ reason: "duplicate", count: items - written.good }])
          }),
          {
            keptBytes,
            uploads: [
              Posts.with({
                check: () => {
                  checked++
                  return undefined
                },
              }),
            ],
          },
        )
      }
    }),
  )
})
