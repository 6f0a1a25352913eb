import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import type { Trace } from "../../src/actor/Trace.ts"
import type { CommandRecord } from "../../src/diagram/CommandReport.ts"
import { Dot, Mermaid, Svg } from "../../src/diagram/index.ts"
import * as Scene from "../../src/diagram/Scene.ts"
import { always, blueprint, documentWorkflow, on, order, orderTrace, state, step, stoppedTrace, traceOf, trafficLight } from "./fixtures.ts"
import { readFlow, readSequence, readState } from "./readMermaid.ts"
import { readXml } from "./readXml.ts"

const taken = (machine: Scene.Source, trace: Trace) =>
  Scene.make(machine, { trace }).edges.flatMap((edge) => (edge.taken ? [`${edge.from} ${edge.label.join(" ")} ${edge.to}`] : []))

describe("130 which edges a trace has taken", () => {
  it("130 goes by event: two edges between the same states are distinguished", () => {
    const machine = blueprint("m", {
      states: [state("A", [], { initial: true }), state("B")],
      transitions: [on("A", "Go", "B"), on("A", "Run", "B")],
    })
    expect(taken(machine, traceOf("m", "A", [step(1, "A", "Run", "B")]))).toEqual(["start  state:A", "state:A Run state:B"])
  })

  it("130 goes by target: of several possible targets only the one reached", () => {
    expect(taken(order, orderTrace)).toEqual([
      "start  state:Pending",
      "state:Pending RequestPayment state:Awaiting",
      "state:Awaiting Pay state:Paid",
      "state:Paid Ship [inStock?] / notifyWarehouse state:Picking",
    ])
  })

  it("130 follows timeouts by name and automatic transitions through every state", () => {
    const machine = blueprint("m", {
      states: [state("A", [], { initial: true }), state("B"), state("C"), state("D")],
      transitions: [on("A", "Go", "B"), always("B", "C", { guards: ["ready"] }), always("B", "D"), on("A", "Go", "C")],
    })
    expect(taken(machine, traceOf("m", "A", [step(1, "A", "Go", "C", { through: ["B"] })]))).toEqual([
      "start  state:A",
      "state:A Go state:B",
      "state:B [ready] state:C",
    ])
    expect(taken(trafficLight, traceOf("traffic light", "Red", [step(1, "Red", "(timeout)", "Green")]))).toEqual([
      "start  state:Red",
      "state:Red after 30 seconds state:Green",
    ])
  })

  it("130 takes a fallback only from a state without a transition of its own", () => {
    expect(taken(trafficLight, traceOf("traffic light", "Red", [step(1, "Red", "PowerLost", "Blinking")]))).toContain(
      "any PowerLost state:Blinking",
    )
    const own = traceOf("traffic light", "Blinking", [step(1, "Blinking", "PowerLost", "Blinking", { outcome: "Stay" })])
    expect(taken(trafficLight, own)).toEqual([])
  })

  it("130 marks an event that gave the state new data, but no reenter of it", () => {
    const machine = blueprint("m", {
      states: [state("A", [], { initial: true })],
      transitions: [on("A", "Edit", "A"), on("A", "Note", "A"), on("A", "Again", "A", { reenter: true })],
    })
    const trace = traceOf("m", "A", [step(1, "A", "Edit", "A", { outcome: "Stay" }), step(2, "A", "Again", "A", { outcome: "Stay" })])
    const lines = Scene.make(machine, { trace }).boxes.flatMap((box) => box.lines)
    expect(lines.map(({ text, taken }) => [text, taken])).toEqual([
      ["Edit", true],
      ["Note", false],
    ])
    expect(taken(machine, trace)).toEqual(["start  state:A"])
  })

  it("130 marks a stay inside the state, and the end an instance came to", () => {
    const lines = Scene.make(order, { trace: orderTrace }).boxes.map((box) =>
      box.lines.filter((line) => line.taken).map((line) => line.text),
    )
    expect(lines.flat()).toEqual(["GetTotal / stay"])
    expect(Scene.make(order, { trace: stoppedTrace }).stops).toEqual([{ key: "stop:fraud found", reason: "fraud found", reached: true }])
    expect(taken(order, stoppedTrace)).toContain("state:Paid Fraud stop:fraud found")
  })

  it("130 does not mind a trace of states the machine no longer has", () => {
    expect(taken(documentWorkflow, orderTrace)).toEqual([])
  })
})

describe("130 how a trace is shown", () => {
  it("130 in a state diagram: classes for states, a dot before the edges", async () => {
    const { classes, edges } = await readState(Mermaid.stateDiagram(order, { trace: orderTrace }))
    expect(["Pending", "Awaiting", "Paid", "Picking", "Packing"].map((id) => classes.get(id))).toEqual([
      ["visited"],
      ["visited"],
      ["visited"],
      ["current"],
      [],
    ])
    expect(edges.filter((edge) => edge.label.startsWith("●")).map((edge) => edge.to)).toEqual(["Awaiting", "Paid", "Picking"])
  })

  it("130 in a flowchart: coloured links", async () => {
    const text = Mermaid.flowchart(order, { trace: orderTrace })
    expect((await readFlow(text)).classes.get("Picking")).toEqual(["current"])
    expect(text).toMatch(/linkStyle 0,1,2,5 stroke:#/)
  })

  it("130 in DOT: fills, and colours by event", () => {
    const lines = Dot.structure(order, { trace: orderTrace }).split("\n")
    const one = (part: string) => lines.find((line) => line.includes(part)) ?? ""
    expect(one(`"Picking" [`)).toContain(`fillcolor="${Svg.light.currentFill}"`)
    expect(one(`"Paid" [`)).toContain(`fillcolor="${Svg.light.visitedFill}"`)
    expect(one(`"Packing" [`)).not.toContain("fillcolor")
    expect(one(`"Awaiting" -> "Paid"`)).toContain("penwidth=2")
    expect(one(`"Paid" -> "Cancelled"`)).not.toContain("penwidth")
  })

  it("130 in SVG: fills and strokes", async () => {
    const elements = readXml(await Effect.runPromise(Svg.render(order, { trace: orderTrace })))
    const having = (name: string, attribute: string, value: string) =>
      elements.filter((one) => one.name === name && one.attributes[attribute] === value)
    expect(having("rect", "fill", Svg.light.visitedFill)).toHaveLength(3)
    expect(having("rect", "fill", Svg.light.currentFill)).toHaveLength(1)
    expect(having("path", "stroke", Svg.light.taken)).toHaveLength(4)
    expect(having("text", "fill", Svg.light.taken).map((one) => one.text)).toEqual([
      "GetTotal / stay",
      "RequestPayment",
      "Pay",
      "Ship",
      "[inStock?]",
      "/ notifyWarehouse",
    ])
  })

  it("130 as a sequence of events, with the commands where they were requested", async () => {
    const commands: ReadonlyArray<CommandRecord> = [
      { id: 1, instance: "order-7", name: "chargeCard", status: "completed", attempts: 3 },
      { id: 2, instance: "order-8", name: "sendReceipt", status: "completed", attempts: 1 },
      { id: 3, instance: "order-7", name: "sendReceipt", status: "failed", attempts: 1, error: "no address" },
      { id: 4, instance: "order-7", name: "notifyWarehouse", status: "pending", attempts: 0 },
    ]
    const { actors, messages } = await readSequence(Mermaid.sequence(orderTrace, { commands, fields: true }))
    expect(actors).toEqual(["Events", "order order-7", "Commands"])
    expect(messages).toEqual([
      "m→m Pending",
      "e→m RequestPayment",
      "m→m Pending → Awaiting",
      "e→m GetTotal",
      "m→m Awaiting / stay",
      "e→m Pay (transactionId = t-1, cardNumber = •••)",
      "m→m Awaiting → Paid",
      "m→c ⚙ releaseHold",
      "m→c ⚙ chargeCard",
      "c→m chargeCard completed after 3 attempts",
      "m→c ⚙ sendReceipt",
      "c→m sendReceipt failed, no address",
      "e→m Ship",
      "m→m Paid → Picking",
      "m→c ⚙ notifyWarehouse",
      "c→c notifyWarehouse pending",
    ])
  })

  it("130 as a sequence that ends with the reason of a stop", async () => {
    const { actors, messages } = await readSequence(Mermaid.sequence(stoppedTrace))
    expect(actors).toEqual(["Events", "order order-7"])
    expect(messages.slice(-2)).toEqual(["e→m Fraud", "m→m ⊗ fraud found"])
  })

  it("130 as a timeline with times and the time between", () => {
    const text = Dot.timeline(orderTrace)
    expect(text).toContain(`step0 [label="Pending\\n2026-03-01 12:00:00"]`)
    expect(text).toContain(`step0 -> step1 [label="RequestPayment\\n1 min 30 s"]`)
    expect(text).toContain(`step4 [label="Picking\\n2026-03-01 12:06:00\\n⚙ notifyWarehouse", fillcolor="${Svg.light.currentFill}"`)
    expect(Dot.timeline(stoppedTrace)).toContain("step3 -> stop")
  })
})
