/** Posts without their lists, as rows of files: the same rows as CSV, XLSX and lines of JSON. */
import { createWriteStream } from "node:fs"
import { writeFile } from "node:fs/promises"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { generateItems } from "@detent/uploads/generate"
import { workbook } from "../../../../packages/tables/test/support/workbook.ts"

type Cell = string | number | boolean

export type Row = { readonly [Column in (typeof columns)[number]]?: Cell }

export const columns = [
  "id",
  "type",
  "by",
  "time",
  "text",
  "url",
  "title",
  "score",
  "parent",
  "descendants",
  "deleted",
  "dead",
  "poll",
] as const

function* rowsOf(count: number): Generator<Row, void> {
  for (const { text } of generateItems({ items: count, seed: 1 })) {
    const { kids: _, parts: __, ...row } = JSON.parse(text)
    yield row
  }
}

export const formats = ["csv", "jsonl", "xlsx"] as const
export type RowFormat = (typeof formats)[number]

export const writeRows = async (path: string, format: RowFormat, count: number): Promise<void> => {
  if (format === "xlsx") {
    const rows = Array.from(rowsOf(count), (row) => columns.map((column) => row[column] ?? null))
    return await writeFile(path, workbook([{ name: "Posts", rows: [[...columns], ...rows] }]))
  }
  await pipeline(Readable.from(linesOf(format, count)), createWriteStream(path))
}

const csvCell = (cell: Cell | undefined): string => {
  const text = String(cell ?? "")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function* linesOf(format: "csv" | "jsonl", count: number): Generator<string, void> {
  let chunk = format === "csv" ? `${columns.join(",")}\n` : ""
  for (const row of rowsOf(count)) {
    chunk += `${format === "csv" ? columns.map((column) => csvCell(row[column])).join(",") : JSON.stringify(row)}\n`
    if (chunk.length < 128 * 1024) continue
    yield chunk
    chunk = ""
  }
  yield chunk
}
