/** Uploads a file in which some items are broken, corrects them, and retries only those. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Uploads } from "@detent/uploads"
import { writeItemFile } from "@detent/uploads/generate"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HackerNews } from "./HackerNews.ts"

/** Everything is in one SQLite file. A killed process resumes its upload when it is started again. */
export const uploadsIn = (folder: string) =>
  Uploads.layer({ uploads: [HackerNews] }).pipe(
    Layer.provide(Engine.layer()),
    Layer.provide(SqliteStore.layer({ filename: join(folder, "uploads.db") })),
  )

export const uploadAndRepair = (file: string) =>
  Effect.gen(function* () {
    const uploads = yield* Uploads
    const news = uploads.of(HackerNews)
    const { batchId } = yield* news.start(file)
    const first = yield* uploads.finished(batchId)
    const { items: failed } = yield* uploads.items(batchId, { state: "failed", limit: 1000 })
    for (const { index, id = 1_000_000 + index } of failed) {
      yield* news.correct(batchId, index, { hnId: Number(id), type: "comment", by: "editor", text: "This one was repaired by hand." })
    }
    yield* uploads.retryFailed(batchId)
    const second = yield* uploads.finished(batchId)
    const { items: found } = yield* news.search({ text: '"repaired by hand"', where: { by: "editor" } })
    return { first, failed, second, found }
  })

if (import.meta.main) {
  const folder = await mkdtemp(join(tmpdir(), "detent-uploads-"))
  const file = join(folder, "items.json")
  await writeItemFile(file, { items: 5000, bad: { missing_field: 0.002, not_json: 0.001 } })
  const { first, failed, second, found } = await Effect.runPromise(Effect.provide(uploadAndRepair(file), uploadsIn(folder)))
  console.log(first.state, first.items, first.batch.errorSummary)
  for (const { index, line, problem } of failed) console.log(`item ${index}, line ${line}: ${problem?.message}`)
  console.log(second.state, second.items)
  console.log(`${found.length} of the repaired items are on the first page of a search`)
  await rm(folder, { recursive: true })
}
