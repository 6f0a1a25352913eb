/** The failed items of a batch as a file, which comes back corrected: CSV for spreadsheets, or JSON lines. */
import type { PersistenceFailed } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import { failedPage } from "../store/FailedEntries.ts"
import type { FailedRow } from "../store/Rows.ts"
import type { UploadStore } from "../store/UploadStore.ts"
import { cellOf, fieldsOf } from "./Cells.ts"

export const FailureFormat = Schema.Literals(["csv", "jsonl"])
export type FailureFormat = typeof FailureFormat.Type

export interface FailureOptions {
  /** Default: CSV. */
  readonly format?: FailureFormat
  /** Only failed items after this one. */
  readonly after?: number
  /** At most this many. Default: all. */
  readonly limit?: number
}

/** A file as a stream of text: only a page of it is in memory. */
export interface FailureFile {
  readonly fileName: string
  readonly contentType: string
  readonly text: Stream.Stream<string, PersistenceFailed>
}

/** The columns that a file of failures has beside those of the items. No column of a table begins like them. */
export const failureColumns = {
  item: "detent:item",
  line: "detent:line",
  id: "detent:id",
  reason: "detent:reason",
  problem: "detent:problem",
  /** The text of an item that has no fields. */
  source: "detent:source",
} as const

/** The failed items have too many different fields for one table. */
export class FailuresTooWide extends Schema.TaggedError<FailuresTooWide>()("FailuresTooWide", {
  batchId: Schema.String,
  limit: Schema.Int,
}) {
  override get message() {
    return `the failed items of ${this.batchId} have more than ${this.limit} different fields, too many for CSV; take the format jsonl`
  }
}

export const failureFile = (
  store: UploadStore,
  batch: number,
  { batchId, fileName, table }: UploadBatch,
  { format = "csv", ...range }: FailureOptions,
  maxColumns: number,
): Effect.Effect<FailureFile, FailuresTooWide | PersistenceFailed> => {
  const named = `${fileName.replace(/\.(?:csv|tsv|xlsx|json|jsonl|ndjson)(?:\.(?:gz|zst))?$/i, "")}.failures.${format}`
  const pages = pagesOf(store, batch, range)
  if (format === "jsonl") {
    const text = Stream.map(pages, (page) => page.map(jsonLine).join(""))
    return Effect.succeed({ fileName: named, contentType: "application/x-ndjson; charset=utf-8", text })
  }
  return Effect.gen(function* () {
    const columns = yield* columnsOf(pages, table?.columns ?? [], { batchId, maxColumns })
    const delimiter = table?.delimiter ?? ","
    const line = (cells: ReadonlyArray<string>) => `${cells.map((cell) => quoted(cell, delimiter)).join(delimiter)}\n`
    // Without the byte order mark, a spreadsheet reads UTF-8 as another encoding, and a corrected file comes back with other letters.
    const head = `\ufeff${line([...metaColumns, ...columns.map(cellOf)])}`
    const rows = Stream.map(pages, (page) => page.map((row) => line(cellsOf(row, columns))).join(""))
    return { fileName: named, contentType: "text/csv; charset=utf-8; header=present", text: Stream.concat(Stream.make(head), rows) }
  })
}

const metaColumns = [failureColumns.item, failureColumns.line, failureColumns.id, failureColumns.reason, failureColumns.problem]

type Pages = Stream.Stream<ReadonlyArray<FailedRow>, PersistenceFailed>

const pagesOf = (store: UploadStore, batch: number, { after: first = -1, limit = Number.POSITIVE_INFINITY }: FailureOptions): Pages =>
  Stream.paginate({ after: first, left: limit }, ({ after, left }) =>
    Effect.map(failedPage(store, batch, after), (all) => {
      const page = all.slice(0, left)
      const last = page.at(-1)
      const next = last === undefined ? Option.none() : Option.some({ after: last.item_index, left: left - page.length })
      return [page.length === 0 ? [] : [page], next] as const
    }),
  )

const longestColumn = 10_000

/** The columns of the file, then other fields of failed items: reads them all once, and keeps their names. */
const columnsOf = (
  pages: Pages,
  ofTable: ReadonlyArray<string>,
  { batchId, maxColumns }: { readonly batchId: string; readonly maxColumns: number },
): Effect.Effect<ReadonlyArray<string>, FailuresTooWide | PersistenceFailed> =>
  Effect.gen(function* () {
    const columns = new Set(ofTable)
    let hasSources = false
    yield* Stream.runForEach(pages, (page) => {
      for (const { content } of page) {
        const fields = fieldsOf(content ?? undefined)
        if (fields === undefined) hasSources ||= content !== null
        else
          for (const column of fields.keys()) {
            columns.add(column)
            if (columns.size > maxColumns || column.length > longestColumn)
              return Effect.fail(new FailuresTooWide({ batchId, limit: maxColumns }))
          }
      }
      return Effect.void
    })
    return hasSources ? [...columns, failureColumns.source] : [...columns]
  })

const cellsOf = (row: FailedRow, columns: ReadonlyArray<string>): ReadonlyArray<string> => {
  const { item_index, line, item_id, reason, message, content } = row
  const fields = fieldsOf(content ?? undefined)
  return [
    String(item_index),
    String(line),
    cellOf(item_id),
    reason ?? "",
    cellOf(message),
    ...columns.map((column) =>
      fields === undefined && column === failureColumns.source ? cellOf(content) : cellOf(fields?.get(column)?.value),
    ),
  ]
}

const quoted = (cell: string, delimiter: string): string =>
  cell.includes('"') || cell.includes(delimiter) || /[\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

const jsonLine = ({ item_index: item, line, item_id, reason, message, content }: FailedRow): string => {
  const known = { item, line, ...(item_id === null ? {} : { id: item_id }), reason, problem: message }
  const fields = fieldsOf(content ?? undefined)
  if (fields === undefined) return `${JSON.stringify(content === null ? known : { ...known, source: content })}\n`
  return `${JSON.stringify(known).slice(0, -1)},"content":${oneLine(content ?? "")}}\n`
}

/** The JSON of an item may have several lines in its file. */
const oneLine = (json: string): string => (/[\r\n]/.test(json) ? JSON.stringify(JSON.parse(json)) : json)
