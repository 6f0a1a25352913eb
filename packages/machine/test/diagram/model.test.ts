import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import type { Blueprint } from "../../src/contract/Blueprint.ts"
import { Dot, Mermaid, Model } from "../../src/diagram/index.ts"
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

  it("refuses groups nested deeper than can be drawn, and draws those that are not", async () => {
    const nested = (depth: number): Blueprint => ({
      ...order,
      states: order.states.map((state) => ({ ...state, group: `g${depth}` })),
      stateGroups: Array.from({ length: depth }, (_, index) => ({
        name: `g${index + 1}`,
        parent: index === 0 ? undefined : `g${index}`,
        members: [],
      })).reverse(),
    })
    const written = JSON.stringify({ ...JSON.parse(Model.json(order)), ...JSON.parse(JSON.stringify(groupsOf(nested(5000)))) })
    const refused = await Effect.runPromise(Effect.flip(Model.parse(written)))
    expect(refused).toBeInstanceOf(Schema.SchemaError)
    expect(refused.message).toContain("group g5000 is more than 100 groups deep")
    const deep = await Effect.runPromise(Model.parse(Model.json(nested(100))))
    expect(Mermaid.stateDiagram(deep)).toContain("g100")
    expect(Dot.structure(deep)).toContain("g100")
  })

  it("refuses another format and a text that is not a model", async () => {
    const other = Model.json(order).replace("detent-machine/1", "detent-machine/2")
    for (const text of [other, "{}", "not json"]) {
      expect(await Effect.runPromise(Effect.flip(Model.parse(text)))).toBeInstanceOf(Schema.SchemaError)
    }
  })
})

/** What a model says of groups, as JSON has it. */
const groupsOf = ({ states, stateGroups }: Blueprint) => ({
  states: states.map((state) => ({ ...state, group: state.group ?? null })),
  stateGroups: stateGroups.map((group) => ({ ...group, parent: group.parent ?? null })),
})
