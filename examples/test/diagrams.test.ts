import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { stale } from "../diagrams.ts"

it.effect("the diagrams beside the examples are current", () =>
  Effect.map(stale, (diagrams) => expect(diagrams.map(({ path }) => path)).toEqual([])),
)
