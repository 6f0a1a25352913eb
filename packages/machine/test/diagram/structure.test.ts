import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { Dot, Mermaid, Model, Svg } from "../../src/diagram/index.ts"
import { after, blueprint, documentWorkflow, machines, on, order, state, stay, stop, trafficLight } from "./fixtures.ts"
import { readFlow, readState } from "./readMermaid.ts"
import { readXml } from "./readXml.ts"

const svgOf = (...parameters: Parameters<typeof Svg.render>) => Effect.runPromise(Svg.render(...parameters))

// Drawn once for all tests that look at them.
const drawn = Promise.all(machines.map(async ([name, machine]) => [name, await svgOf(machine)] as const))

const line = (text: string, part: string) => text.split("\n").find((one) => one.includes(part)) ?? ""

describe("129 a state diagram in Mermaid", () => {
  it("129 marks the initial state and the final ones", async () => {
    const { edges } = await readState(Mermaid.stateDiagram(order))
    expect(edges[0]).toEqual({ from: "root_start", to: "Pending", label: "" })
    expect(edges.filter((edge) => edge.to === "root_end").map((edge) => edge.from)).toEqual(["Delivered", "Cancelled"])
  })

  it("129 lists what keeps the state inside it, draws a loop only where the state is entered again", async () => {
    const { nodes, edges } = await readState(Mermaid.stateDiagram(order))
    expect(nodes.get("Awaiting")).toEqual(["Awaiting", "GetTotal / stay", "⚙ releaseHold on exit"])
    expect(edges.filter((edge) => edge.from === edge.to)).toEqual([{ from: "Picking", to: "Picking", label: "Restart" }])
    const { nodes: documents } = await readState(Mermaid.stateDiagram(documentWorkflow))
    expect(documents.get("Draft")).toEqual(["Draft", "↻ Edit"])
  })

  it("129 draws a stop as a marker of its own and a timeout with its duration", async () => {
    const { nodes, edges } = await readState(Mermaid.stateDiagram(order))
    expect(nodes.get("stop1")).toEqual(["⊗ fraud found"])
    expect(edges).toContainEqual({ from: "Paid", to: "stop1", label: "Fraud" })
    expect(edges).toContainEqual({ from: "Awaiting", to: "Cancelled", label: "◷ after 30 minutes" })
  })

  it("129 shows commands, work and postponed events inside the state", async () => {
    const { nodes } = await readState(Mermaid.stateDiagram(order))
    expect(nodes.get("Paid")).toEqual(["Paid", "⚙ chargeCard on enter", "⚙ sendReceipt on enter"])
    expect(nodes.get("Picking")).toEqual(["Picking", "‖ Deliver", "▶ pickItems"])
  })

  it("129 puts a question mark to a guard that chooses between targets", async () => {
    const { edges } = await readState(Mermaid.stateDiagram(order))
    expect(edges.filter((edge) => edge.label.startsWith("Ship"))).toEqual([
      { from: "Paid", to: "Picking", label: "Ship [inStock?] / notifyWarehouse" },
      { from: "Paid", to: "Cancelled", label: "Ship [inStock?] / notifyWarehouse" },
    ])
    expect(Mermaid.stateDiagram(documentWorkflow)).toContain("Editing --> Waiting : Submit [isComplete]")
  })

  it("129 nests groups", async () => {
    const { groups } = await readState(Mermaid.stateDiagram(documentWorkflow))
    expect([...groups]).toEqual([
      ["Editing", ["Draft", "Changing"]],
      ["Review", ["Waiting", "Checks"]],
      ["Checks", ["Legal", "Security"]],
    ])
  })

  it("129 draws a fallback once, from any state", async () => {
    const { nodes, edges } = await readState(Mermaid.stateDiagram(documentWorkflow))
    expect(nodes.get("any1")).toEqual(["any state"])
    expect(edges.filter((edge) => edge.label === "Delete")).toEqual([{ from: "any1", to: "stop1", label: "Delete" }])
  })

  it("129 reads well", () => {
    expect(Mermaid.stateDiagram(trafficLight)).toBe(`stateDiagram-v2
  Red
  Green
  Yellow
  state "Blinking" as Blinking
  Blinking : PowerLost / stay
  state "any state" as any1
  [*] --> Red
  Red --> Green : ◷ after 30 seconds
  Green --> Yellow : ◷ after 25 seconds
  Yellow --> Red : ◷ after 3 seconds
  any1 --> Blinking : PowerLost
  Blinking --> Red : PowerBack
  class any1 anyState
  classDef anyState stroke-dasharray:4 3
`)
  })
})

describe("129 a flowchart in Mermaid", () => {
  it("129 has an initial marker, dotted timeouts, thick automatic transitions and subgraphs", async () => {
    const { edges, groups, classes } = await readFlow(Mermaid.flowchart(documentWorkflow))
    expect(edges[0]).toMatchObject({ from: "initial1", to: "Draft", stroke: "normal" })
    expect(edges.filter((edge) => edge.stroke === "dotted").map((edge) => edge.label)).toEqual([
      "after 14 days (expire)",
      "after 1 year idle",
    ])
    expect(edges.filter((edge) => edge.stroke === "thick").map((edge) => edge.label)).toEqual(["[publishesAtOnce]"])
    expect(groups.get("Review")).toEqual(["Waiting", "Checks"])
    expect(classes.get("Archived")).toContain("final")
    expect(classes.get("stop1")).toContain("stop")
  })
})

describe("129 DOT", () => {
  it("129 has an initial marker, double borders, dashed timeouts, stop markers and nested clusters", () => {
    const text = Dot.structure(order)
    expect(line(text, `"initial1" [`)).toContain("shape=circle")
    expect(text).toContain(`"initial1" -> "Pending" [weight=10]`)
    expect(line(text, `"Cancelled" [`)).toContain("label=<<b>Cancelled</b>>, peripheries=2")
    expect(line(text, "after 30 minutes")).toContain("style=dashed")
    expect(line(text, `"stop1" [`)).toContain("⊗ fraud found")
    expect(line(text, `"Awaiting" [`)).toContain("GetTotal / stay")
    expect(text).toContain(`"Picking" -> "Picking"`)
    const nested = Dot.structure(documentWorkflow)
    expect(nested).toMatch(/subgraph "cluster_Review" \{[^}]*subgraph "cluster_Checks" \{[^}]*"Legal"[^}]*\}\n {2}\}/)
  })
})

describe("129 SVG", () => {
  it("129 has an initial marker, double borders, dashed timeouts, a cross for a stop and titled groups", async () => {
    const elements = readXml(await svgOf(order))
    const texts = elements.filter((one) => one.name === "text").map((one) => one.text)
    expect(texts).toEqual(
      expect.arrayContaining(["Pending", "Fulfilling", "after 30 minutes", "fraud found", "GetTotal / stay", "pickItems"]),
    )
    expect(elements.filter((one) => one.name === "path" && one.attributes["stroke-dasharray"] !== undefined)).toHaveLength(1)
    expect(elements.filter((one) => one.name === "rect" && one.attributes["fill"] === "none")).toHaveLength(2)
    expect(elements.filter((one) => one.name === "circle" && one.attributes["r"] === "7")).toHaveLength(1)
    expect(elements.filter((one) => one.name === "title").map((one) => one.text)).toEqual([
      "order (version 3)",
      "The bank reported the card",
    ])
  })

  it("129 uses nothing but shapes, text and presentation attributes", async () => {
    const allowed = ["svg", "title", "g", "rect", "circle", "line", "path", "polygon", "text"]
    for (const [, svg] of await drawn) {
      const elements = readXml(svg)
      expect(elements.filter((one) => !allowed.includes(one.name))).toEqual([])
      expect(elements.filter((one) => "class" in one.attributes || "style" in one.attributes)).toEqual([])
    }
  })

  it("129 keeps labels and boxes apart", async () => {
    for (const [name, svg] of await drawn) {
      const rectangles = readXml(svg)
        .filter((one) => one.name === "rect" && one.attributes["fill"] !== "none" && Number(one.attributes["width"]) > 10)
        // The background and the groups hold the others.
        .filter((one) => one.attributes["rx"] === undefined || one.attributes["fill"] === Svg.light.boxFill)
        .map(({ attributes: at }) => ["x", "y", "width", "height"].map((key) => Number(at[key])) as [number, number, number, number])
      const collisions = rectangles.flatMap(([x, y, width, height], index) =>
        rectangles
          .slice(index + 1)
          .filter(([x2, y2, width2, height2]) => x < x2 + width2 && x2 < x + width && y < y2 + height2 && y2 < y + height),
      )
      expect([name, collisions]).toEqual([name, []])
    }
  })
})

describe("129 order and stability", () => {
  const reversed = blueprint("reversed", {
    states: [state("Zebra", [], { initial: true }), state("Ant")],
    transitions: [on("Zebra", "Go", "Ant")],
  })

  it("129 keeps the order of the declaration", () => {
    for (const text of [Mermaid.stateDiagram(reversed), Mermaid.flowchart(reversed), Dot.structure(reversed), Model.json(reversed)]) {
      expect(text.indexOf("Zebra")).toBeLessThan(text.indexOf("Ant"))
    }
  })

  it("129 writes the same bytes every time, from a machine as from its blueprint", async () => {
    for (const [name, machine] of machines) {
      const copy = { blueprint: structuredClone(machine) }
      expect(Mermaid.stateDiagram(copy)).toBe(Mermaid.stateDiagram(machine))
      expect(Mermaid.flowchart(copy)).toBe(Mermaid.flowchart(machine))
      expect(Dot.structure(copy)).toBe(Dot.structure(machine))
      expect(Model.json(copy)).toBe(Model.json(machine))
      expect([name, await svgOf(copy)]).toEqual((await drawn).find(([other]) => other === name))
    }
  })

  it("129 draws a machine without transitions, and one with nothing in it", async () => {
    for (const machine of [
      blueprint("lonely", { states: [state("Only")], transitions: [] }),
      blueprint("empty", { states: [], transitions: [] }),
    ]) {
      expect((await readFlow(Mermaid.flowchart(machine))).edges).toEqual([])
      expect((await readState(Mermaid.stateDiagram(machine))).edges).toEqual([])
      expect(readXml(await svgOf(machine)).length).toBeGreaterThan(1)
    }
  })

  it("129 names timeouts where a state has several, and says so where the duration depends on the state", async () => {
    const machine = blueprint("timers", {
      states: [state("A", [], { initial: true }), state("B")],
      transitions: [
        after("A", undefined, "B", { name: "deadline" }),
        after("B", "1 hour", stay, { idle: true, requests: ["nag"] }),
        after("B", "1 day", stop(), { name: "giveUp" }),
      ],
    })
    const { edges, nodes } = await readState(Mermaid.stateDiagram(machine))
    expect(edges.map((edge) => edge.label)).toEqual(["", "◷ after a time (deadline)", "◷ after 1 day (giveUp)"])
    expect(nodes.get("B")).toEqual(["B", "after 1 hour idle (timeout) / nag, stay"])
    expect(nodes.get("stop1")).toEqual(["⊗ stopped"])
  })
})
