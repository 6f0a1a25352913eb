import { ActorSystem, type Inspection, State, traceOfInspections } from "@detent/machine"
import { Dot, Mermaid, Model, Svg } from "@detent/machine/diagram"
import { simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { EntityWorkflow, Registry } from "../src/index.ts"
import { makeRegistry, ticket, World } from "./tickets.ts"

const Desk = EntityWorkflow.make(makeRegistry(new World()), {
  name: "desk",
  states: ["new", "checked", "booked", "failed"],
  initial: "new",
  failure: "mark_failed",
  transitions: [
    { name: "check", from: "new", to: "checked", processors: ["a"], criteria: ["small"] },
    {
      name: "book",
      from: "checked",
      to: "booked",
      manual: true,
      processors: ["call", "b"],
      criteria: ["never", "booked"],
      criteriaAfter: true,
    },
    { name: "look_again", from: ["checked"], to: "checked", manual: true, description: "For a second look." },
    { name: "retry", from: "failed", to: "new", manual: true },
    { name: "mark_failed", from: "*", to: "failed", manual: true, processors: ["explain"] },
  ],
})

const edges = (diagram: string) => diagram.split("\n").flatMap((line) => (line.includes(" --> ") ? [line.trim()] : []))

describe("the diagram of a workflow", () => {
  it("shows its states and its transitions, with processors, criteria and who takes them; nothing else", () => {
    expect(edges(Mermaid.stateDiagram(Desk.machine))).toEqual([
      "[*] --> new",
      "new --> checked : check (a + small)",
      "checked --> booked : book (call + b + never + booked) [manual]",
      "checked --> checked : look_again [manual]",
      "failed --> new : retry [manual]",
      "any1 --> failed : mark_failed (explain) [manual] [on failure]",
      "booked --> [*]",
    ])
  })

  it("has what is taken by itself in bold in DOT, and long labels on lines of their own", () => {
    const dot = Dot.structure(Desk.machine)
    expect(dot).toContain('"new" -> "checked" [label=" check (a + small) ", style=bold]')
    expect(dot).toContain('label=" book \\n (call + \\n b + \\n never + \\n booked) \\n [manual] "')
    expect(dot).toContain('edgetooltip="For a second look."')
  })

  it.effect("is an SVG with every name in it", () =>
    Effect.map(Svg.render(Desk.machine), (svg) => {
      for (const text of ["check (a + small)", "(call +", "booked)", "[manual]", "[on failure]", "any state"]) expect(svg).toContain(text)
    }),
  )

  it("and the trace of an instance hide the sensitive fields of an entity", () => {
    const Card = Schema.Struct({ number: State.sensitive(Schema.String) })
    const Paying = EntityWorkflow.make(Registry.make(Card, {}), {
      name: "paying",
      states: ["new", "done"],
      initial: "new",
      transitions: [{ name: "pay", from: "new", to: "done", manual: true }],
    })
    const { trace } = simulate(Paying.machine, { number: "4242" }, [
      Paying.update({ number: "4243" }),
      Paying.trigger("pay", { patch: { number: "4244" } }),
    ])
    expect(trace.steps.map((step) => step.fields)).toEqual([{ patch: { number: "•••" } }, { patch: { number: "•••" } }])
  })

  it.effect("keeps its labels as a model for other tools", () =>
    Effect.map(Model.parse(Model.json(Desk.machine)), (blueprint) => expect(blueprint).toEqual(Desk.machine.blueprint)),
  )

  it.effect("shows the way an instance went, also where processors with effects went it", () =>
    Effect.gen(function* () {
      const Booking = EntityWorkflow.make(makeRegistry(new World()), {
        name: "booking",
        states: ["new", "called", "booked"],
        initial: "new",
        transitions: [
          { name: "call", from: "new", to: "called", processors: ["call"] },
          { name: "book", from: "called", to: "booked", manual: true },
        ],
      })
      const system = yield* ActorSystem.make
      const inspections: Array<Inspection> = []
      system.inspectUnsafe((inspection) => inspections.push(inspection))
      const actor = yield* system.spawn("b-1", Booking.machine, ticket())
      yield* actor.waitFor((state) => state._tag === "called")
      const trace = traceOfInspections(Booking.machine, "b-1", inspections)
      expect(edges(Mermaid.stateDiagram(Booking.machine, { trace }))).toEqual([
        "[*] --> new",
        "new --> called : ● call (call)",
        "called --> booked : book [manual]",
        "booked --> [*]",
      ])
    }),
  )
})
