/** A machine that was compiled from another notation is drawn as that notation says. */
import { type Blueprint, Event, Machine, State } from "@detent/machine"
import { Dot, Mermaid, Model } from "@detent/machine/diagram"
import { compiledOf, fromDeclarations } from "@detent/machine/internal"
import { simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const S = State({ Open: {}, Shut: {} })
const E = Event({ Close: {}, "(closed)": {} })
const Door = Machine.make({ name: "door", state: S, event: E, initial: S.Open() }).on(S.Open, [E.Close, E["(closed)"]], S.Shut)

const [closing] = Door.blueprint.transitions
const drawn: Blueprint = {
  ...Door.blueprint,
  transitions: closing === undefined ? [] : [{ ...closing, label: ["close", "(slowly +", "softly)", "[by hand]"] }],
}
const Drawn = fromDeclarations({ ...compiledOf(Door).declarations, blueprint: () => drawn })

describe("a label of its own", () => {
  it("stands at the edge instead of event, guards and requests", () => {
    expect(Mermaid.stateDiagram(Drawn)).toContain("Open --> Shut : close (slowly + softly) [by hand]\n")
    expect(Dot.structure(Drawn)).toContain('label=" close \\n (slowly + \\n softly) \\n [by hand] "')
  })

  it("marks the edge as taken also when an event of work led there", () => {
    const { trace } = simulate(Door, S.Open(), [E["(closed)"]()])
    expect(Mermaid.stateDiagram(Drawn, { trace })).toContain("Open --> Shut : ● close")
  })

  it.effect("is part of the model for other tools", () => Effect.map(Model.parse(Model.json(Drawn)), (read) => expect(read).toEqual(drawn)))
})

describe("events in parentheses", () => {
  it("are the machine's own: they are not offered to senders", () => {
    expect(Machine.decide(Door, S.Shut(), E.Close())).toMatchObject({ error: { accepted: [] } })
    const Other = Machine.make({ name: "door", state: S, event: Event({ Close: {}, Lock: {}, "(closed)": {} }), initial: S.Open() })
    expect(Machine.checkEvent(Other, { _tag: "Knock" })?.message).toContain("the events are Close, Lock")
    expect(Machine.checkEvent(Other, { _tag: "Knock" })?.message).not.toContain("(closed)")
  })
})
