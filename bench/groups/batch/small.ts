/** Many small documents from end to end: the cost of durability, documents per second, and memory. */
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import type { PipelineChoice } from "./pipeline.ts"

/** Limits the heap to 640 MB, so that uncollected garbage does not count as required memory. */
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
          "Both take turns, each time in a new process; medians. CPU seconds are steadier where other programs use the machine.",
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
