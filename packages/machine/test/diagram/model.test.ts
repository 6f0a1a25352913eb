import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import type { Blueprint } from "../../src/Blueprint.ts"
import { Model } from "../../src/diagram/index.ts"
import { machines, order } from "./fixtures.ts"

describe("the JSON model", () => {
  it("reads back what it wrote", async () => {
    for (const [, machine] of machines) expect(await Effect.runPromise(Model.parse(Model.json(machine)))).toEqual(machine)
  })

  it("names its format first and writes every key", () => {
    const model: unknown = JSON.parse(Model.json(order))
    expect(Object.keys(model as object)[0]).toBe("format")
    expect(model).toMatchObject({ format: "detent-machine/1", states: [{ tag: "Pending", group: null }, {}, {}, {}, {}, {}, {}] })
  })

  it("does not depend on the order of keys", () => {
    const reversed = Object.fromEntries(Object.entries(order).reverse()) as unknown as Blueprint
    expect(Model.json(reversed)).toBe(Model.json(order))
  })

  it("refuses another format and a text that is no model", async () => {
    const other = Model.json(order).replace("detent-machine/1", "detent-machine/2")
    for (const text of [other, "{}", "not json"]) {
      expect(await Effect.runPromise(Effect.flip(Model.parse(text)))).toBeInstanceOf(Schema.SchemaError)
    }
  })
})
