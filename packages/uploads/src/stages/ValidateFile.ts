/** Reads a file from its start to its end: whether it can be processed, how many items it has, and what is wrong with them. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import type { ErrorGroup, ErrorSummary, UploadBatch } from "../batch/UploadBatch.ts"
import { inspect } from "../file/FileInspection.ts"
import { FileChanged, FileInvalid, type FileProblem } from "../file/FileProblem.ts"
import { openItems } from "../file/ItemFile.ts"
import type { RawItem } from "../file/RawItem.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import { type ItemCheck, type ReadItem, readItem } from "../item/ReadItem.ts"
import { findBatch, setHash } from "../store/Batches.ts"
import type { Uploading } from "./Uploading.ts"

/** How many items are looked at before others get a turn. */
const pageSize = 2000

export const validateFile = (uploading: Uploading, batch: UploadBatch) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { filePath: path, fileName: name } = batch
      const { limits, check } = uploading
      const inspection = yield* inspect(path, name, limits, batch.contentType)
      const items = yield* openItems({ path, name, packed: inspection.packed, limits })
      const errors = new ErrorCount()
      let count = 0
      for (;;) {
        const page = yield* items.take(pageSize)
        if (page.length === 0) break
        count += page.length
        for (const raw of page) {
          const read = readRaw(raw, limits.maxItemBytes, check)
          if (read._tag === "Bad") errors.add(raw, read)
        }
        yield* Effect.yieldNow
      }
      const layout = items.layout()
      if (count === 0 || layout === undefined) return yield* Effect.fail(new FileInvalid({ file: name, problem: "it holds no items" }))
      const md5 = items.md5()
      yield* acceptHash(uploading, batch, md5)
      const { fileSize, modifiedAt: fileModifiedAt, contentType, packed } = inspection
      return {
        fileSize,
        fileModifiedAt,
        fileMd5Hash: md5,
        contentType,
        contentEncoding: packed ? ("gzip" as const) : ("identity" as const),
        layout,
        totalItemsInFile: count,
        invalidItemsInFile: errors.total,
        ...(errors.total === 0 ? {} : { validationErrors: errors.summary() }),
      }
    }),
  )

/** An item as it is in the file, read; what is known without reading it comes first. */
export const readRaw = ({ text, problem }: RawItem, maxItemBytes: number, check: ItemCheck | undefined): ReadItem => {
  if (text !== undefined) return readItem(text, check)
  const told: ItemProblem =
    problem === "too_large"
      ? { reason: "too_large", message: `it has more than ${maxItemBytes} bytes` }
      : { reason: "not_text", message: "it is no UTF-8 text" }
  return { _tag: "Bad", problem: told }
}

/** A file may be corrected as long as none of its items has been taken. */
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

/** Problems by reason, with the first few of each. */
class ErrorCount {
  readonly #groups = new Map<ItemProblem["reason"], { count: number; readonly examples: Array<ErrorGroup["examples"][number]> }>()
  total = 0

  add({ index, line }: RawItem, { problem: { reason, message }, hnId }: Extract<ReadItem, { readonly _tag: "Bad" }>) {
    this.total++
    const group = this.#groups.get(reason) ?? { count: 0, examples: [] }
    this.#groups.set(reason, group)
    group.count++
    if (group.examples.length < exampleLimit) group.examples.push({ index, line, ...(hnId === undefined ? {} : { hnId }), message })
  }

  summary(): ErrorSummary {
    const groups = [...this.#groups].map(([reason, { count, examples }]) => ({ reason, count, examples }))
    return { total: this.total, groups: groups.toSorted((left, right) => right.count - left.count) }
  }
}
