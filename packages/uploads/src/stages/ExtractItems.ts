/** Takes the items of a file from where the batch has got to, a few at a time, never faster than they are stored. */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import type { FileStamp } from "../file/FileBytes.ts"
import { inspect } from "../file/FileInspection.ts"
import { FileChanged, type FileProblem } from "../file/FileProblem.ts"
import { openItems } from "../file/ItemFile.ts"
import { beginRun, findBatch } from "../store/Batches.ts"
import type { BatchRow } from "../store/Rows.ts"
import { storeItems } from "./StoreItems.ts"
import type { Uploading } from "./Uploading.ts"

/**
 * So many items in one transaction. It hardly matters for speed: one costs 48 to 58 µs of CPU, whether they come by 500 or by
 * 10,000. It does for others who want to write: they wait for a tenth of a second, not for half a second.
 */
const itemsPerTransaction = 2000

export const extractItems = (uploading: Uploading, batch: UploadBatch): Effect.Effect<void, FileProblem | PersistenceFailed> =>
  Effect.gen(function* () {
    const { store } = uploading
    for (;;) {
      const row = yield* findBatch(store, batch.batchId)
      if (row === undefined || row.next_index >= batch.totalItemsInFile) return
      yield* checkUnchanged(batch, yield* inspect(batch.filePath, batch.fileName, uploading.limits))
      yield* beginRun(store, row.batch, Math.floor(yield* Clock.currentTimeMillis))
      // Where somebody else has moved the batch on, its place is read anew.
      if (yield* extractFrom(uploading, batch, row)) return
    }
  })

/** True when the end of the file was reached. */
const extractFrom = (uploading: Uploading, batch: UploadBatch, row: BatchRow): Effect.Effect<boolean, FileProblem | PersistenceFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { filePath: path, fileName: name, contentEncoding, layout = "array", totalItemsInFile } = batch
      const items = yield* openItems({
        path,
        name,
        packed: contentEncoding === "gzip",
        limits: uploading.limits,
        from: { layout, position: { index: row.next_index, offset: row.next_offset, line: row.next_line } },
      })
      let reached = row.next_index
      for (;;) {
        const page = yield* items.take(itemsPerTransaction)
        if (page.length === 0) break
        // What was read before this moment came from the file that was validated.
        yield* checkUnchanged(batch, yield* items.stamp)
        if (!(yield* insisting(uploading, storeItems(uploading, row, page)))) return false
        reached += page.length
      }
      if (reached === totalItemsInFile) return true
      const problem = `it has ${reached} items, ${totalItemsInFile} were there when it was validated`
      return yield* Effect.fail(new FileChanged({ file: name, problem }))
    }),
  )

/** A file that was written to since its validation may hold anything. */
const checkUnchanged = ({ fileName, fileSize, fileModifiedAt }: UploadBatch, found: FileStamp): Effect.Effect<void, FileChanged> =>
  found.fileSize === fileSize && found.modifiedAt === fileModifiedAt
    ? Effect.void
    : Effect.fail(new FileChanged({ file: fileName, problem: "it was written to since it was validated" }))

/** A database that is away for a moment must not fail a batch of a million items. */
export const insisting = <A>(
  { storeTimeout }: Uploading,
  effect: Effect.Effect<A, PersistenceFailed>,
): Effect.Effect<A, PersistenceFailed> =>
  Effect.retry(effect, { schedule: Schedule.max([Schedule.exponential("100 millis", 1.5), Schedule.during(storeTimeout)]) })
