/** A dry run of an upload: reads a file, and counts what an upload of it would do. Nothing is stored. */
import { hash } from "node:crypto"
import type { PersistenceFailed } from "@detent/machine"
import { FileInvalid, openRows, type Row, type TableFile, type TableFormat } from "@detent/tables"
import * as Effect from "effect/Effect"
import type { Existing } from "../batch/Existing.ts"
import type { ErrorSummary } from "../batch/UploadBatch.ts"
import { type FileProblem, TooManyItems } from "../file/FileProblem.ts"
import { tableLimits } from "../file/UploadLimits.ts"
import { duplicateProblem } from "../item/ItemProblem.ts"
import type { ItemContent } from "../kind/ItemKind.ts"
import { pageSize } from "./Page.ts"
import { readRows } from "./ReadPage.ts"
import type { Kind, Uploading } from "./Uploading.ts"
import { ErrorCount } from "./ValidateFile.ts"

/** What an upload of a file would do with its items. */
export interface UploadPlan {
  readonly items: number
  /** Items whose id is new. */
  readonly insert: number
  /** Items whose id is stored with other content. */
  readonly update: number
  /** Items whose id is stored with the same content, or with any where stored items are kept. */
  readonly skip: number
  /** Items that would fail, with their reasons. */
  readonly fail: number
  readonly errors: ErrorSummary
  readonly table: TableFormat
}

export interface PlannedFile {
  readonly file: TableFile
  readonly table: TableFormat
  readonly existing: Existing
}

export const planUpload = (
  uploading: Uploading,
  kind: Kind,
  { file, table, existing }: PlannedFile,
): Effect.Effect<UploadPlan, FileProblem | PersistenceFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { limits } = uploading
      const rows = yield* openRows({ file, format: table, limits: tableLimits(limits) })
      const errors = new ErrorCount()
      const seen = new SeenIds()
      const counts = { items: 0, insert: 0, update: 0, skip: 0 }
      for (;;) {
        const page: ReadonlyArray<Row> = yield* rows.take(pageSize)
        if (page.length === 0) break
        counts.items += page.length
        if (counts.items > limits.maxItems) return yield* Effect.fail(new TooManyItems({ file: file.name, limit: limits.maxItems }))
        const good: Array<ItemContent> = []
        for (const item of yield* readRows(uploading, kind, page)) {
          const { read, index } = item
          if (read._tag === "Bad") {
            errors.add(item, read)
            continue
          }
          const { id } = read.content
          const first = seen.add(id, index)
          if (first === undefined) good.push(read.content)
          else errors.add(item, { _tag: "Bad", problem: duplicateProblem(first, id), itemId: id })
        }
        const stored = yield* kind.table.compare(good)
        for (const { id } of good) {
          const isSame = stored.get(id)
          if (isSame === undefined) counts.insert++
          else if (isSame || existing === "skip") counts.skip++
          else counts.update++
        }
        yield* Effect.yieldNow
      }
      if (counts.items === 0) return yield* Effect.fail(new FileInvalid({ file: file.name, problem: "it holds no items" }))
      return { ...counts, fail: errors.total, errors: errors.summary(), table: { ...table, format: rows.format() } }
    }),
  )

/** The ids of the file, each with the index of its first item: hashes, because an id may have 500 characters. */
class SeenIds {
  readonly #indices = new Map<string, number>()

  /** Returns the index of an earlier item with the id. */
  add(id: string, index: number): number | undefined {
    const key = hash("md5", id, "binary")
    const first = this.#indices.get(key)
    if (first === undefined) this.#indices.set(key, index)
    return first
  }
}
