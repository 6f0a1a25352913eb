import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { Dot, Mermaid, Svg } from "../../src/diagram/index.ts"
import { order, orderTrace } from "./fixtures.ts"
import { readState } from "./readMermaid.ts"

const shown = async (fields: boolean): Promise<ReadonlyArray<string>> => [
  Mermaid.stateDiagram(order, { fields }),
  Mermaid.flowchart(order, { fields }),
  Dot.structure(order, { fields }),
  await Effect.runPromise(Svg.render(order, { fields })),
]

describe("132 sensitive fields", () => {
  it("132 are marked as hidden where fields are shown", async () => {
    const { nodes } = await readState(Mermaid.stateDiagram(order, { fields: true }))
    expect(nodes.get("Awaiting")?.slice(0, 4)).toEqual(["Awaiting", "orderId", "total", "cardNumber •••"])
    for (const text of await shown(true)) expect(text).toContain("cardNumber •••")
  })

  it("132 are not shown at all unless fields are asked for", async () => {
    for (const text of await shown(false)) expect(text).not.toMatch(/cardNumber|orderId/)
  })

  it("132 have no values in a sequence, since a trace holds none", () => {
    expect(Mermaid.sequence(orderTrace, { fields: true })).toContain("cardNumber = •••")
    expect(Mermaid.sequence(orderTrace)).not.toContain("cardNumber")
  })
})
