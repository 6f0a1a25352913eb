import { Event, Machine, Slot, State } from "@detent/machine"
import { Dot, Mermaid, Model, Svg } from "@detent/machine/diagram"
import { observe, simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const S = State({ Open: { total: Schema.Finite }, Paid: { total: Schema.Finite }, Packing: {}, Sent: {} })
const E = Event({ Pay: {}, Pack: {}, Send: {}, Check: {} })
const guards = Slot.Guards({ inStock: {}, mayPay: {} })
const effects = Slot.Effects({ charge: { total: Schema.Finite }, reserve: {}, release: {}, pack: {}, notify: {} })
const base = Machine.make({ name: "order", state: S, event: E, guards, effects, initial: S.Open })

/** Uses slots everywhere and declares none. */
const undeclared = Machine.make({
  name: "order",
  state: S,
  event: E,
  guards,
  effects,
  initial: (total: number) => S.Open({ total }),
})
  .on(S.Open, E.Pay, S.Paid, ({ state, guards, effects }) => {
    if (guards.mayPay()) effects.charge({ total: state.total })
    return S.Paid(state)
  })
  .on(S.Paid, E.Pack, S.Packing)
  .always(
    S.Paid,
    () => false,
    S.Sent,
    () => S.Sent(),
  )
  .always(
    S.Paid,
    ({ state, guards }) => state.total > 50 && guards.inStock(),
    S.Packing,
    ({ effects }) => {
      effects.notify()
      return S.Packing()
    },
  )
  .timeout(S.Packing, "1 day", S.Sent, ({ effects }) => {
    effects.notify()
    return S.Sent()
  })
  .enter(S.Paid, ({ effects }) => effects.reserve())
  .exit(S.Paid, ({ effects }) => effects.release())
  .spawn(S.Packing, ({ effects }) => effects.pack())
  .onAny(E.Check, S.Sent, ({ effects }) => {
    effects.notify()
    return S.Sent()
  })
  .final(S.Sent)

const transition = (blueprint: (typeof base)["blueprint"], from: string, label: string) =>
  blueprint.transitions.find(
    (one) => one.from === from && ("event" in one ? one.event : "name" in one ? `(${one.name})` : "(always)") === label,
  )

const state = (blueprint: (typeof base)["blueprint"], tag: string) => blueprint.states.find((one) => one.tag === tag)

describe("a blueprint", () => {
  it("shows the slots that are declared, in every kind of transition", () => {
    const { blueprint } = base
      .on(S.Open, E.Pay, S.Paid, ({ state }) => S.Paid(state), { guards: ["mayPay"], requests: ["charge", "notify"] })
      .on(S.Paid, E.Pack, S.Packing, { guard: () => true, guards: ["inStock"] })
      .always(S.Paid, () => true, S.Sent, { guards: ["inStock"], guardName: "worth it", description: "no need to pack" })
      .timeout(S.Packing, "1 day", S.Sent, () => S.Sent(), { requests: ["notify"], description: "too slow" })
      .onAny(E.Check, S.Sent, () => S.Sent(), { requests: ["notify"] })
    expect(transition(blueprint, "Open", "Pay")).toMatchObject({ guards: ["mayPay"], requests: ["charge", "notify"] })
    expect(transition(blueprint, "Paid", "Pack")).toMatchObject({ guards: ["inStock"], requests: [] })
    expect(transition(blueprint, "Paid", "(always)")).toMatchObject({ guards: ["worth it", "inStock"], description: "no need to pack" })
    expect(transition(blueprint, "Packing", "(timeout)")).toMatchObject({ requests: ["notify"], description: "too slow" })
    expect(transition(blueprint, "*", "Check")).toMatchObject({ requests: ["notify"] })
  })

  it("shows hooks and work by their names, with the slots they declare", () => {
    const { blueprint } = base
      .enter(S.Paid, () => undefined, { name: "reserve stock", requests: ["reserve"] })
      .enter(S.Paid, () => undefined, { requests: ["notify"] })
      .exit(S.Paid, () => undefined, { name: "give it back", requests: ["release"] })
      .spawn(S.Packing, () => Effect.never, { name: "pack the parcel", runs: ["pack"] })
      .task(S.Packing, () => Effect.void, { onSuccess: () => E.Send(), onFailure: () => E.Send() }, { name: "wait for the courier" })
    expect(state(blueprint, "Paid")).toMatchObject({
      requestsOnEnter: ["reserve", "notify"],
      requestsOnExit: ["release"],
      actions: [
        { phase: "enter", name: "reserve stock", slots: ["reserve"] },
        { phase: "exit", name: "give it back", slots: ["release"] },
      ],
    })
    expect(state(blueprint, "Packing")).toMatchObject({
      runs: ["pack"],
      working: true,
      actions: [
        { phase: "work", name: "pack the parcel", slots: ["pack"] },
        { phase: "work", name: "wait for the courier", slots: [] },
      ],
    })
    expect(state(blueprint, "Open")).not.toHaveProperty("actions")
  })

  it("refuses slots the machine does not have, and options a method does not have", () => {
    const refused = (declare: () => unknown) => expect(declare)
    refused(() => base.on(S.Open, E.Pay, S.Paid, { requests: ["chrage"] as never })).toThrow(
      "machine order: chrage is not an effect slot of this machine; the effect slots are charge, reserve, release, pack, notify",
    )
    refused(() => base.on(S.Open, E.Pay, S.Paid, { guards: ["charge"] as never })).toThrow(/charge is not a guard slot of this machine/)
    refused(() => base.enter(S.Paid, () => undefined, { runs: ["pack"] } as never)).toThrow(/runs is not an option of a hook/)
    refused(() => base.spawn(S.Packing, () => Effect.void, { requests: ["pack"] } as never)).toThrow(/requests is not an option of a work/)
    refused(() => base.timeout(S.Packing, 5, S.Sent, { guard: () => true } as never)).toThrow(/guard is not an option of a timeout/)
  })

  it("comes from declarations alone: no function is read, and none is called", () => {
    const { blueprint } = undeclared
    expect(
      blueprint.states.map(({ initial, requestsOnEnter, requestsOnExit, runs }) => [initial, requestsOnEnter, requestsOnExit, runs]),
    ).toEqual(blueprint.states.map(() => [false, [], [], []]))
    expect(blueprint.transitions.flatMap(({ guards, requests }) => [...guards, ...requests])).toEqual([])
    const made = Machine.make({ name: "order", state: S, event: E, initial: (total: number) => S.Open({ total }), initialState: S.Open })
    expect(made.blueprint.states.filter(({ initial }) => initial).map(({ tag }) => tag)).toEqual(["Open"])
    expect(() => Machine.make({ name: "order", state: S, event: E, initial: S.Open, initialState: E.Pay as never })).toThrow(
      /its initial state Pay is not one of its states/,
    )
  })

  it("is completed by what an exploration sees, but for slots that work runs", () => {
    const blueprint = observe(undeclared, { starts: [100] })
    expect(transition(blueprint, "Open", "Pay")).toMatchObject({ guards: ["mayPay"], requests: ["charge"] })
    const automatic = blueprint.transitions.filter((one) => one._tag === "Always")
    expect(automatic.map(({ guards, requests }) => [guards, requests])).toEqual([
      [[], []],
      [["inStock"], ["notify"]],
    ])
    expect(transition(blueprint, "Packing", "(timeout)")).toMatchObject({ requests: ["notify"] })
    expect(transition(blueprint, "*", "Check")).toMatchObject({ requests: ["notify"] })
    expect(state(blueprint, "Paid")).toMatchObject({ requestsOnEnter: ["reserve"], requestsOnExit: ["release"] })
    expect(state(blueprint, "Open")).toMatchObject({ initial: true })
    expect(state(blueprint, "Packing")).toMatchObject({ runs: [] })
  })

  it("is completed by traces: what hooks declare is not counted for the transition", () => {
    const machine = undeclared
      .enter(S.Paid, () => undefined, { requests: ["reserve"] })
      .exit(S.Paid, () => undefined, { requests: ["release"] })
    const { trace } = simulate(machine, 10, [E.Pay(), E.Pack()], { guards: { mayPay: () => true, inStock: () => true } })
    const blueprint = Machine.observed(machine, [trace])
    expect(transition(blueprint, "Open", "Pay")).toMatchObject({ requests: ["charge"] })
    expect(transition(blueprint, "Paid", "Pack")).toMatchObject({ requests: [] })
    expect(state(blueprint, "Open")).toMatchObject({ initial: true })
  })
})

describe("names of hooks and work", () => {
  const named = base
    .on(S.Open, E.Pay, S.Paid)
    .on(S.Paid, E.Pack, S.Packing)
    .on(S.Packing, E.Send, S.Sent)
    .enter(S.Paid, () => undefined, { name: "reserve stock", requests: ["reserve"] })
    .enter(S.Paid, () => undefined, { requests: ["notify"] })
    .exit(S.Paid, () => undefined, { name: "write it down" })
    .spawn(S.Packing, () => Effect.never, { name: "pack the parcel", runs: ["pack"] })
    .final(S.Sent)

  it("129 stand in every text format", () => {
    const lines = ["⚙ enter: reserve stock / reserve", "⚙ notify on enter", "exit: write it down", "▶ pack the parcel / pack"]
    const escaped = lines.map((line) => line.replace(":", "#58;"))
    for (const text of escaped) {
      expect(Mermaid.stateDiagram(named)).toContain(` : ${text}\n`)
      expect(Mermaid.flowchart(named)).toContain(`<br/>${text}`)
    }
    for (const text of lines) expect(Dot.structure(named)).toContain(`>${text}</font>`)
  })

  it.effect("129 stand in the SVG and in the JSON model", () =>
    Effect.gen(function* () {
      const svg = yield* Svg.render(named)
      for (const text of ["enter: reserve stock / reserve", "notify on enter", "exit: write it down", "pack the parcel / pack"]) {
        expect(svg).toContain(`>${text}</text>`)
      }
      expect(yield* Model.parse(Model.json(named))).toEqual(named.blueprint)
    }),
  )
})
