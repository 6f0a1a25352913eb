/** Many small documents from end to end: what durability costs, how many a second, and how much memory. */
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import type { PipelineChoice } from "./pipeline.ts"

/** With a heap of 640 MB, so that garbage that is not collected yet does not count as memory that is needed. */
const run = (choice: PipelineChoice) =>
  runNode(["--max-old-space-size=640", join(import.meta.dirname, "pipeline.ts"), JSON.stringify(choice)])

export const small: Part = async ({ quick }) => {
  const documents = quick ? 300 : 2000
  const { sqlite = {}, memory = {} } = await inTurns(
    { sqlite: () => run({ documents, store: "sqlite" }), memory: () => run({ documents, store: "memory" }) },
    quick ? 3 : 5,
  )
  const many = quick ? sqlite : await run({ documents: 100_000, store: "sqlite" })
  const manyDocuments = quick ? documents : 100_000
  const row = (name: string, count: number, { seconds = Number.NaN, cpuSeconds = Number.NaN, peakRssMb = Number.NaN }) => [
    name,
    String(count),
    seconds.toFixed(2),
    cpuSeconds.toFixed(2),
    (count / seconds).toFixed(0),
    peakRssMb.toFixed(0),
  ]
  return {
    tables: [
      {
        title: "A batch of small documents, end to end, built-in extractor",
        columns: ["", "documents", "seconds", "CPU seconds", "documents/s", "peak RSS, MB"],
        rows: [
          row("durable, SQLite on a file, synced", documents, sqlite),
          row("durability off", documents, memory),
          ...(quick ? [] : [row("durable, many", manyDocuments, many)]),
        ],
        notes: [
          "Without durability the same pipeline runs on the memory store and a database in memory.",
          "Both in turns, each time in a process of its own; medians. CPU seconds are steadier where others use the machine too.",
        ],
      },
    ],
    figures: {
      "durability.overhead": (sqlite["seconds"] ?? Number.NaN) / (memory["seconds"] ?? Number.NaN) - 1,
      "durability.overheadCpu": (sqlite["cpuSeconds"] ?? Number.NaN) / (memory["cpuSeconds"] ?? Number.NaN) - 1,
      "small.documentsPerSecond": manyDocuments / (many["seconds"] ?? Number.NaN),
      "small.peakRssMb": many["peakRssMb"] ?? Number.NaN,
    },
  }
}
