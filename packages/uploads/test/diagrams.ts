/**
 * Draws the workflows of this package into its folder `diagrams`: checked in, they can be looked at without running anything.
 *
 *     npx node packages/uploads/test/diagrams.ts
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Mermaid, Svg } from "@detent/machine/diagram"
import * as Effect from "effect/Effect"
import { type BatchWork, loadBatchWorkflow, loadItemWorkflow, readDefinition } from "../src/index.ts"

const folder = join(import.meta.dirname, "..", "diagrams")

const unused = () => Effect.die("a diagram does nothing")
const noWork: BatchWork = {
  inspect: unused,
  validate: unused,
  extract: unused,
  retryFailed: unused,
  endRetry: unused,
  count: unused,
  summarizeErrors: unused,
  notify: unused,
}

/** The diagrams by file name, as they should be. */
export const draw = Effect.gen(function* () {
  const { machine: batch } = yield* loadBatchWorkflow(readDefinition("upload-batch.json"), noWork)
  const { machine: item } = yield* loadItemWorkflow(readDefinition("upload-item.json"))
  return new Map([
    ["UploadBatch.mmd", Mermaid.stateDiagram(batch)],
    ["UploadBatch.svg", yield* Svg.render(batch)],
    ["UploadItem.mmd", Mermaid.stateDiagram(item)],
    ["UploadItem.svg", yield* Svg.render(item)],
  ])
})

export const readDiagram = (name: string): string => readFileSync(join(folder, name), "utf8")

if (import.meta.main) {
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of await Effect.runPromise(draw)) writeFileSync(join(folder, name), content)
}
