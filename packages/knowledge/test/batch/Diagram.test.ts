import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Mermaid, Svg } from "@detent/machine/diagram"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { BatchMachine } from "../../src/batch/BatchMachine.ts"

const folder = join(import.meta.dirname, "..", "..")

/** With DETENT_DRAW=1 the diagrams are drawn anew; otherwise they have to be as they would be drawn. */
const isDrawing = process.env["DETENT_DRAW"] === "1"

it.effect("the batch machine's diagrams beside the package are current", () =>
  Effect.gen(function* () {
    const drawn = { "batch.svg": yield* Svg.render(BatchMachine), "batch.mmd": Mermaid.stateDiagram(BatchMachine) }
    for (const [name, content] of Object.entries(drawn)) {
      if (isDrawing) yield* Effect.promise(() => writeFile(join(folder, name), content))
      expect(yield* Effect.promise(() => readFile(join(folder, name), "utf8")), `${name}: run it with DETENT_DRAW=1`).toBe(content)
    }
  }),
)
