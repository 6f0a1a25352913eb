/** Ingestion, beside n3, the parser that it uses. */
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"

export const ingest: Part = async ({ quick }) => {
  const triples = quick ? 100_000 : 1_000_000
  const { measured = {} } = await inTurns(
    { measured: () => runNode([join(import.meta.dirname, "ingesting.ts"), JSON.stringify({ triples })]) },
    quick ? 1 : 3,
  )
  const { ingestPerSecond = Number.NaN, n3PerSecond = Number.NaN, triples: count = Number.NaN } = measured
  return {
    tables: [
      {
        title: "Triples into the canonical graph",
        columns: ["", "triples", "per second"],
        rows: [
          ["merged, added and published as Turtle", count.toFixed(0), ingestPerSecond.toFixed(0)],
          ["n3 reading the same triples", count.toFixed(0), n3PerSecond.toFixed(0)],
        ],
      },
    ],
    figures: { "ingest.vsN3": ingestPerSecond / n3PerSecond, "ingest.triplesPerSecond": ingestPerSecond },
  }
}
