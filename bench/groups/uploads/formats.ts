/** The same rows as CSV, XLSX and lines of JSON, uploaded beside plain inserts, and beside csv-parse with plain inserts. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { atExit } from "../../measure/AtExit.ts"
import type { Findings, Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import { formats as fileFormats, type RowFormat, writeRows } from "./contestants/posts.ts"

type Report = Readonly<Record<string, number>>

const turns = 3

export const formats: Part = async ({ quick }) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-bench-formats-"))
  const remove = atExit(() => rmSync(folder, { recursive: true, force: true }))
  try {
    const count = quick ? 30_000 : 300_000
    const pathOf = (format: RowFormat) => join(folder, `posts.${format}`)
    for (const format of fileFormats) await writeRows(pathOf(format), format, count)
    let turn = 0
    const run = (contestant: string, format: RowFormat) => async () => {
      const database = join(folder, `${turn++}.db`)
      const report = await runNode([join(import.meta.dirname, "contestants", contestant), pathOf(format), database, String(count)])
      for (const part of ["", "-wal", "-shm"]) rmSync(`${database}${part}`, { force: true })
      return report
    }
    const reports = await inTurns(
      {
        plain: run("plainLines.ts", "jsonl"),
        csvParse: run("csvParse.ts", "csv"),
        csv: run("detent.ts", "csv"),
        jsonl: run("detent.ts", "jsonl"),
        xlsx: run("detent.ts", "xlsx"),
      },
      turns,
    )
    const sizes = fileFormats.map((format) => `${format} ${(statSync(pathOf(format)).size / 1e6).toFixed(0)} MB`).join(", ")
    return findings(count, sizes, (name) => reports[name] ?? {})
  } finally {
    remove()
  }
}

const findings = (count: number, sizes: string, of: (name: string) => Report): Findings => {
  const speed = (name: string) => of(name)["perSecond"] ?? Number.NaN
  const row = (title: string, name: string): ReadonlyArray<string> => [
    title,
    speed(name).toFixed(0),
    (speed(name) / speed("plain")).toFixed(2),
    (speed(name) / speed("csvParse")).toFixed(2),
    (of(name)["cpuMicros"] ?? Number.NaN).toFixed(1),
    (of(name)["peakRssMb"] ?? Number.NaN).toFixed(0),
  ]
  return {
    tables: [
      {
        title: `${count.toLocaleString("en")} rows of 13 columns (${sizes}), SQLite with synchronous FULL; the median of ${turns} turns`,
        columns: ["", "rows per second", "of plain inserts", "of csv-parse", "CPU per row, µs", "peak memory, MB"],
        rows: [
          row("lines of JSON, plain loop of batched INSERTs", "plain"),
          row("CSV, csv-parse and batched INSERTs", "csvParse"),
          row("detent, CSV", "csv"),
          row("detent, lines of JSON", "jsonl"),
          row("detent, XLSX", "xlsx"),
        ],
        notes: [
          "All write the same rows to the same tables of items and of their words. In addition, Detent finds the format, hashes the file,",
          "reads all of it before it stores a row, and keeps an instance with its history and an entry for every row.",
        ],
      },
    ],
    figures: Object.fromEntries(
      ["csv", "jsonl", "xlsx"].flatMap((format) => [
        [`formats.${format}.perSecond`, speed(format)],
        [`formats.${format}.vsPlainInserts`, speed(format) / speed("plain")],
        [`formats.${format}.vsCsvParse`, speed(format) / speed("csvParse")],
        [`formats.${format}.peakRssMb`, of(format)["peakRssMb"] ?? Number.NaN],
      ]),
    ),
  }
}
