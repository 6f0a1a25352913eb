/** A second run over a folder in which nothing has changed. */
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import type { PipelineChoice } from "./pipeline.ts"

export const incremental: Part = async ({ quick }) => {
  const documents = 1000
  const choice: PipelineChoice = { documents, store: "sqlite", twice: true }
  const { measured = {} } = await inTurns(
    { measured: () => runNode([join(import.meta.dirname, "pipeline.ts"), JSON.stringify(choice)]) },
    quick ? 1 : 3,
  )
  const { seconds = Number.NaN, againSeconds = Number.NaN } = measured
  return {
    tables: [
      {
        title: "The same documents again, unchanged",
        columns: ["", "documents", "seconds"],
        rows: [
          ["first run", String(documents), seconds.toFixed(2)],
          ["second run", String(documents), againSeconds.toFixed(2)],
        ],
      },
    ],
    figures: { "incremental.vsFirst": againSeconds / seconds },
  }
}
