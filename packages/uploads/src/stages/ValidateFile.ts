/** Reads a file from its start to its end: whether it can be processed, how many items it has, and what is wrong with them. */
import type { PersistenceFailed } from "@detent/machine"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ErrorGroup, ErrorSummary, UploadBatch } from "../batch/UploadBatch.ts"
import { inspect } from "../file/FileInspection.ts"
import { FileChanged, FileInvalid, type FileProblem } from "../file/FileProblem.ts"
import { openItems } from "../file/ItemFile.ts"
import { behind, type Position, type RawItem } from "../file/RawItem.ts"
import type { ItemProblem } from "../item/ItemProblem.ts"
import type { BadItem } from "../item/ReadItem.ts"
import { findBatch, setHash } from "../store/Batches.ts"
import type { ReadOnce } from "./ReadOnce.ts"
import { type Item, type Page, pageSize, readRaw } from "./ReadPage.ts"
import { kindOfBatch, type Uploading } from "./Uploading.ts"

export const validateFile = (uploading: Uploading, batch: UploadBatch) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { filePath: path, fileName: name, batchId } = batch
      const { limits, readOnce } = uploading
      const kind = yield* kindOfBatch(uploading, batch)
      const inspection = yield* inspect(path, name, limits, batch.contentType)
      const { fileSize, modifiedAt: fileModifiedAt, contentType, packed } = inspection
      const kept = readOnce.takeBytes(batchId)
      const isSame = kept?.fileSize === fileSize && kept.modifiedAt === fileModifiedAt
      const items = yield* openItems({ path, name, packed, limits, ...(isSame ? { content: kept.chunks } : {}) })
      const errors = new ErrorCount()
      const keeping = new Keeping(readOnce)
      let count = 0
      for (;;) {
        const page = yield* items.take(pageSize)
        if (page.length === 0) break
        const ingestedAt = yield* Clock.currentTimeMillis
        count += page.length
        const read = page.map((raw): Item => ({ raw, read: readRaw(raw, limits.maxItemBytes, kind) }))
        for (const { raw, read: one } of read) if (one._tag === "Bad") errors.add(raw, one)
        keeping.add({ items: read, ingestedAt, validatedAt: yield* Clock.currentTimeMillis })
        yield* Effect.yieldNow
      }
      const layout = items.layout()
      if (count === 0 || layout === undefined) return yield* Effect.fail(new FileInvalid({ file: name, problem: "it holds no items" }))
      const md5 = isSame ? kept.md5 : items.md5()
      yield* acceptHash(uploading, batch, md5)
      keeping.keep(batchId, md5)
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

/** The first pages of a file, as many as may be kept for extraction. */
class Keeping {
  readonly #readOnce: ReadOnce
  readonly #pages: Array<Page> = []
  #bytes = 0
  #end: Position | undefined
  #full = false

  constructor(readOnce: ReadOnce) {
    this.#readOnce = readOnce
  }

  add(page: Page) {
    const first = page.items[0]?.raw
    const last = page.items.at(-1)?.raw
    if (this.#full || first === undefined || last === undefined) return
    const bytes = last.endOffset - first.offset
    this.#full = this.#bytes + bytes > this.#readOnce.limit
    if (this.#full) return
    this.#pages.push(page)
    this.#bytes += bytes
    this.#end = behind(last)
  }

  keep(batchId: string, md5: string) {
    if (this.#end !== undefined) this.#readOnce.keepPages(batchId, { md5, pages: this.#pages, end: this.#end, bytes: this.#bytes })
  }
}

const exampleLimit = 5

/** Problems by reason, with the first few of each. */
class ErrorCount {
  readonly #groups = new Map<ItemProblem["reason"], { count: number; readonly examples: Array<ErrorGroup["examples"][number]> }>()
  total = 0

  add({ index, line }: RawItem, { problem: { reason, message }, hnId, itemId }: BadItem) {
    this.total++
    const group = this.#groups.get(reason) ?? { count: 0, examples: [] }
    this.#groups.set(reason, group)
    group.count++
    if (group.examples.length >= exampleLimit) return
    const known = { ...(hnId === undefined ? {} : { hnId }), ...(itemId === undefined ? {} : { id: itemId }) }
    group.examples.push({ index, line, ...known, message })
  }

  summary(): ErrorSummary {
    const groups = [...this.#groups].map(([reason, { count, examples }]) => ({ reason, count, examples }))
    return { total: this.total, groups: groups.toSorted((left, right) => right.count - left.count) }
  }
}
