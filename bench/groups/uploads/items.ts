/** A file of items, uploaded with one durable instance per item, beside a plain loop that writes the same rows. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { writeItemFile } from "@detent/uploads/generate"
import { atExit } from "../../measure/AtExit.ts"
import type { Findings, Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import { median } from "../../measure/Statistics.ts"

type Report = Readonly<Record<string, number>>

/** With `--quick`, another turn starts only before this time is over. */
const quickMillis = 15_000

export const items: Part = async ({ quick }) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-bench-uploads-"))
  const remove = atExit(() => rmSync(folder, { recursive: true, force: true }))
  try {
    const count = quick ? 50_000 : 1_000_000
    const file = join(folder, "items.json")
    await writeItemFile(file, { items: count, seed: 1 })
    let turn = 0
    const run = (contestant: string) => async () => {
      const database = join(folder, `${turn++}.db`)
      const report = await runNode([join(import.meta.dirname, "contestants", contestant), file, database, String(count)])
      for (const part of ["", "-wal", "-shm"]) rmSync(`${database}${part}`, { force: true })
      return report
    }
    const contestants = { plain: run("plain.ts"), detent: run("detent.ts") }
    const start = performance.now()
    const turns = [await inTurns(contestants, 1)]
    while (quick && turns.length < 3 && performance.now() - start < quickMillis) turns.push(await inTurns(contestants, 1))
    const of = (name: string): Report => medians(turns.map((report) => report[name] ?? {}))
    return findings(count, statSync(file).size, of("plain"), of("detent"))
  } finally {
    remove()
  }
}

const medians = (reports: ReadonlyArray<Report>): Report =>
  Object.fromEntries(Object.keys(reports[0] ?? {}).map((key) => [key, median(reports.map((report) => report[key] ?? Number.NaN))]))

const findings = (count: number, bytes: number, plain: Report, detent: Report): Findings => {
  const row = (name: string, report: Report): ReadonlyArray<string> => [
    name,
    (report["perSecond"] ?? Number.NaN).toFixed(0),
    (report["cpuMicros"] ?? Number.NaN).toFixed(1),
    (report["peakRssMb"] ?? Number.NaN).toFixed(0),
  ]
  return {
    tables: [
      {
        title: `${count.toLocaleString("en")} items in a file of ${(bytes / 1e6).toFixed(0)} MB, SQLite with synchronous FULL`,
        columns: ["", "items per second", "CPU per item, µs", "peak memory, MB"],
        rows: [row("plain loop of batched INSERTs", plain), row("detent", detent)],
        notes: [
          "Both read the file and write the same rows to the same tables of items and of their words. In addition, Detent hashes and",
          "validates the file before it stores an item, reads a file of more than 24 MB again for that, and keeps an instance with its",
          "history and an entry for every item.",
        ],
      },
    ],
    figures: {
      "uploads.perSecond": detent["perSecond"] ?? Number.NaN,
      "items.perSecond": detent["perSecond"] ?? Number.NaN,
      "items.peakRssMb": detent["peakRssMb"] ?? Number.NaN,
      "items.vsPlainInserts": (detent["perSecond"] ?? Number.NaN) / (plain["perSecond"] ?? Number.NaN),
      "items.cpuMicros": detent["cpuMicros"] ?? Number.NaN,
    },
  }
}
