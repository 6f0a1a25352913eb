/** Validates a file by reading it completely: whether it can be processed, how many items it has, and their problems. */
import type { PersistenceFailed } from "@detent/machine"
import { FileInvalid, memoryFile, openRows } from "@detent/tables"
import * as Effect from "effect/Effect"
import { BatchNotFound } from "../batch/BatchProblem.ts"
import type { ErrorGroup, ErrorSummary, UploadBatch } from "../batch/UploadBatch.ts"
import { collecting } from "../file/Collected.ts"
import { inspect, tableFile } from "../file/FileInspection.ts"
import { FileChanged, type FileProblem, TooManyItems } from "../file/FileProblem.ts"
import { tableLimits } from "../file/UploadLimits.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import type { BadItem } from "../kind/ReadItem.ts"
import { findBatch, setHash } from "../store/Batches.ts"
import { type Item, type Page, pageSize } from "./Page.ts"
import { readPage } from "./ReadPage.ts"
import { kindOfBatch, type Uploading } from "./Uploading.ts"

export const validateFile = (uploading: Uploading, batch: UploadBatch) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { filePath: path, fileName: name, batchId } = batch
      const { limits, readOnce, store, files } = uploading
      const inspection = yield* inspect(files, path, name, limits, batch.contentType, batch.given)
      const { fileSize, modifiedAt: fileModifiedAt, contentType, table: format } = inspection
      const kind = yield* kindOfBatch(uploading, { ...batch, table: format })
      const kept = readOnce.takeBytes(batchId)
      const isSame = kept?.fileSize === fileSize && kept.modifiedAt === fileModifiedAt
      const file = isSame ? memoryFile(name, kept.chunks) : tableFile(files, path, name)
      const items = yield* openRows({ file, format, limits: tableLimits(limits) })
      const row = yield* findBatch(store, batchId)
      if (row === undefined) return yield* Effect.fail(new BatchNotFound({ batchId }))
      const errors = new ErrorCount()
      // The first pages of a larger file would save little of its extraction, and V8 lets its heap grow to several times their size.
      const pages = fileSize > readOnce.collecting.bytes ? undefined : yield* collecting<Page>(readOnce.collecting)
      let count = 0
      for (;;) {
        const page = yield* readPage(uploading, kind, row.batch, yield* items.take(pageSize))
        if (page === undefined) break
        count += page.items.length
        if (count > limits.maxItems) return yield* Effect.fail(new TooManyItems({ file: name, limit: limits.maxItems }))
        for (const item of page.items) if (item.read._tag === "Bad") errors.add(item, item.read)
        pages?.add(page, page.bytes)
        yield* Effect.yieldNow
      }
      if (count === 0) return yield* Effect.fail(new FileInvalid({ file: name, problem: "it holds no items" }))
      const md5 = isSame ? kept.md5 : yield* items.md5
      yield* acceptHash(uploading, batch, md5)
      if (pages?.parts !== undefined) readOnce.keepPages(batchId, { md5, pages: pages.parts, bytes: pages.bytes })
      return {
        fileSize,
        fileModifiedAt,
        fileMd5Hash: md5,
        contentType,
        table: { ...format, format: items.format() },
        totalItemsInFile: count,
        invalidItemsInFile: errors.total,
        ...(errors.total === 0 ? {} : { validationErrors: errors.summary() }),
      }
    }),
  )

/** Accepts a changed file as long as none of its items has been extracted. */
const acceptHash = (
  { store }: Uploading,
  { batchId, fileName, fileMd5Hash }: UploadBatch,
  md5: string,
): Effect.Effect<void, FileProblem | PersistenceFailed> =>
  Effect.gen(function* () {
    if (md5 === fileMd5Hash) return
    const row = yield* findBatch(store, batchId)
    if (row === undefined) return
    if (row.next_index === 0) return yield* setHash(store, row.batch, md5)
    const problem = `its MD5 is ${md5}, items 0 to ${row.next_index - 1} came from a file with ${fileMd5Hash}`
    return yield* Effect.fail(new FileChanged({ file: fileName, problem }))
  })

const exampleLimit = 5

/** Counts problems by reason, with the first few examples of each. */
export class ErrorCount {
  readonly #groups = new Map<ItemProblem["reason"], { count: number; readonly examples: Array<ErrorGroup["examples"][number]> }>()
  total = 0

  add({ index, line }: Item, { problem: { reason, message }, itemId }: BadItem) {
    this.total++
    const group = this.#groups.get(reason) ?? { count: 0, examples: [] }
    this.#groups.set(reason, group)
    group.count++
    if (group.examples.length >= exampleLimit) return
    group.examples.push({ index, line, ...(itemId === undefined ? {} : { id: itemId }), message })
  }

  summary(): ErrorSummary {
    const groups = [...this.#groups].map(([reason, { count, examples }]) => ({ reason, count, examples }))
    return { total: this.total, groups: groups.toSorted((left, right) => right.count - left.count) }
  }
}
