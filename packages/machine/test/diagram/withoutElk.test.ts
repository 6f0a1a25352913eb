import * as Effect from "effect/Effect"
import { expect, it, vi } from "vitest"
import { Dot, Svg } from "../../src/diagram/index.ts"
import { order } from "./fixtures.ts"

vi.mock("elkjs/lib/elk.bundled.js", () => {
  throw new Error("Cannot find package 'elkjs'")
})

it("129 an SVG says how to get the layout engine where it is not installed; the others do without", async () => {
  const error = await Effect.runPromise(Effect.flip(Svg.render(order)))
  expect(error._tag).toBe("DiagramError")
  expect(error.message).toBe("the layout engine elkjs is not installed; run `npm install elkjs`")
  expect(Dot.structure(order)).toContain("Pending")
})
