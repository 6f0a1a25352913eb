import { readFile } from "node:fs/promises"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { draw } from "../diagrams.ts"

it.effect("the diagrams of the concepts are current (npx node docs/diagrams.ts renews them)", () =>
  Effect.gen(function* () {
    for (const { path, content } of yield* draw) expect(yield* Effect.promise(() => readFile(path, "utf8")), path).toBe(content)
  }),
)
