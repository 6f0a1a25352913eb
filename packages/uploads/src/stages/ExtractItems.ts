/** Extracts the items of a file, starting at the position of the batch, one page at a time, with backpressure from the store. */

import type { PersistenceFailed } from "@detent/machine"
import { type FileStamp, openRows } from "@detent/tables"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { UploadUnknown } from "../batch/BatchProblem.ts"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import { inspect, md5Of, tableFile } from "../file/FileInspection.ts"
import { FileChanged, type FileProblem } from "../file/FileProblem.ts"
import { tableLimits } from "../file/UploadLimits.ts"
import { beginRun, findBatch } from "../store/Batches.ts"
import type { BatchRow } from "../store/Rows.ts"
import { type Page, pageSize } from "./Page.ts"
import type { KeptPages } from "./ReadOnce.ts"
import { readPage } from "./ReadPage.ts"
import { StoredIds, storeItems } from "./StoreItems.ts"
import { type Kind, kindOfBatch, type Uploading } from "./Uploading.ts"

type ExtractError = FileProblem | PersistenceFailed | UploadUnknown

export const extractItems = (uploading: Uploading, batch: UploadBatch): Effect.Effect<void, ExtractError> =>
  Effect.gen(function* () {
    const { store, readOnce } = uploading
    const kind = yield* kindOfBatch(uploading, batch)
    const kept = readOnce.takePages(batch.batchId)
    for (;;) {
      const row = yield* findBatch(store, batch.batchId)
      if (row === undefined || row.next_index >= batch.totalItemsInFile) return
      yield* checkFile(uploading, kind, batch)
      yield* beginRun(store, row.batch, Math.floor(yield* Clock.currentTimeMillis))
      const isKept = row.next_index === 0 && kept?.md5 === batch.fileMd5Hash
      // If another process has advanced the batch, the loop reads its position again.
      if (yield* extractFrom(uploading, kind, batch, row, isKept ? kept : undefined)) return
    }
  })

/** Returns true at the end of the file, false if another process has advanced the batch. */
const extractFrom = (
  uploading: Uploading,
  kind: Kind,
  batch: UploadBatch,
  row: BatchRow,
  kept: KeptPages | undefined,
): Effect.Effect<boolean, ExtractError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { filePath: path, fileName: name, totalItemsInFile } = batch
      const { limits, files } = uploading
      const format = batch.table ?? (yield* inspect(files, path, name, limits, batch.contentType, batch.given)).table
      const position = { index: row.next_index, offset: row.next_offset, line: row.next_line }
      const items = yield* openRows({ file: tableFile(files, path, name), format, limits: tableLimits(limits), from: position })
      const ids = new StoredIds(uploading.store, row)
      /** Stores a page after checking that the file is unchanged: the check covers all items read before it. */
      const store = (page: Page) =>
        Effect.andThen(
          Effect.flatMap(items.stamp, (stamp) => checkUnchanged(kind, batch, stamp)),
          insisting(uploading, storeItems(uploading, kind, row, page, ids, batch.existing)),
        )
      let reached = position.index
      while (reached < totalItemsInFile) {
        const page = kept?.pages.shift() ?? (yield* readPage(uploading, kind, row.batch, yield* items.take(pageSize)))
        if (page === undefined) break
        if (!(yield* store(page))) return false
        reached += page.items.length
      }
      if (reached === totalItemsInFile) return true
      const problem = `it has ${reached} items, ${totalItemsInFile} were there when it was validated`
      return yield* Effect.fail(new FileChanged({ file: name, problem }))
    }),
  )

/** Checks the file before extraction begins or resumes. */
const checkFile = ({ limits, files }: Uploading, kind: Kind, batch: UploadBatch): Effect.Effect<void, FileProblem> =>
  Effect.gen(function* () {
    const { filePath, fileName, fileMd5Hash, contentType, given } = batch
    yield* checkUnchanged(kind, batch, yield* inspect(files, filePath, fileName, limits, contentType, given))
    if (kind.integrity !== "hash") return
    const { md5 } = yield* md5Of(files, filePath, fileName, limits)
    if (md5 !== fileMd5Hash) {
      const problem = `its MD5 is ${md5}, it was ${fileMd5Hash} when it was validated`
      return yield* Effect.fail(new FileChanged({ file: fileName, problem }))
    }
  })

/** Refuses a file that was modified since its validation. */
const checkUnchanged = (
  { integrity }: Pick<Kind, "integrity">,
  { fileName, fileSize, fileModifiedAt }: UploadBatch,
  found: FileStamp,
): Effect.Effect<void, FileChanged> => {
  const isSame = found.fileSize === fileSize && (integrity === "size" || found.modifiedAt === fileModifiedAt)
  return isSame ? Effect.void : Effect.fail(new FileChanged({ file: fileName, problem: "it was written to since it was validated" }))
}

/** Retries a failing database for `storeTimeout`: a short outage must not fail a batch of a million items. */
export const insisting = <A>(
  { storeTimeout }: Uploading,
  effect: Effect.Effect<A, PersistenceFailed>,
): Effect.Effect<A, PersistenceFailed> =>
  Effect.retry(effect, { schedule: Schedule.max([Schedule.exponential("100 millis", 1.5), Schedule.during(storeTimeout)]) })
