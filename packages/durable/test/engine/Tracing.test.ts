/** The spans of an engine, and what they leave out. */
import { Event, Machine, Slot, State, stay } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Tracer from "effect/Tracer"
import { makeKit } from "../../testing/engine/Rig.ts"
import { recorder } from "./recorder.ts"

const S = State({ Open: { card: Schema.String }, Paid: { card: Schema.String }, Late: {} })
const E = Event({ Pay: { card: Schema.String }, Ping: {}, Note: {}, Wait: {} })
const effects = Slot.Effects({ charge: { card: Schema.String } })
const inside: Array<string | undefined> = []
const order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open({ card: "" }) })
  .on(S.Open, E.Pay, S.Paid, ({ event, effects, self }) => {
    effects.charge({ card: event.card })
    self.send(E.Note())
    return S.Paid({ card: event.card })
  })
  .on(S.Open, E.Ping, stay)
  .on(S.Paid, E.Note, stay)
  .postpone(S.Open, E.Wait)
  .on(S.Paid, E.Wait, stay)
  .enter(S.Paid, () =>
    Effect.map(Effect.option(Effect.currentSpan), (span) => void inside.push(Option.getOrUndefined(Option.map(span, ({ name }) => name)))),
  )
  .timeout(S.Open, "1 minute", S.Late)
  .build({ charge: () => Effect.void })

const attributesOf = (span: Tracer.Span | undefined) => Object.fromEntries(span?.attributes ?? [])
const outcomeOf = ({ status }: Tracer.Span) => (status._tag === "Ended" ? status.exit._tag : "unended")

const { test } = makeKit("tracing", MemoryStore.layer, {})

test("an event has spans from its sender to its answer: decided, committed with its commands, carried out", ({ open, quiet }) => {
  const { tracer, spans, named, childrenOf, parentOf } = recorder()
  return Effect.gen(function* () {
    const { engine } = yield* open()
    const instance = yield* engine.start(order, "o-1")
    inside.length = 0
    yield* Effect.withSpan(instance.send(E.Pay({ card: "4711-secret" }), { id: "webhook-1" }), "request")
    yield* quiet
    const [request] = named("request")
    const [send] = childrenOf(request)
    expect(send?.name).toBe("detent.send")
    expect(attributesOf(send)).toEqual({ "detent.machine": "order", "detent.id": "o-1", "detent.event": "Pay", "detent.sequence": 1 })
    const parts = childrenOf(send)
    expect(parts.map(({ name }) => name)).toEqual(["detent.decide", "detent.commit", "detent.send", "detent.carryOut"])
    const [decide, commit, raised] = parts
    expect(attributesOf(decide)).toEqual({ "detent.state": "Open", "detent.outcome": "Goto", "detent.target": "Paid" })
    expect(attributesOf(commit)).toEqual({ "detent.sequence": 1 })
    expect(childrenOf(commit).map((span) => [span.name, attributesOf(span)])).toEqual([
      ["detent.request", { "detent.slot": "charge", "detent.command": "order/o-1/1/0" }],
    ])
    // What the decision sent itself belongs to it.
    expect(attributesOf(raised)).toMatchObject({ "detent.event": "Note", "detent.internal": true, "detent.sequence": 2 })
    expect(childrenOf(raised).map(({ name }) => name)).toEqual(["detent.decide", "detent.commit", "detent.carryOut"])
    // Hooks run where the event is in its trace.
    expect(inside).toEqual(["detent.carryOut"])
    expect(named("detent.flush").map(attributesOf)).toContainEqual({ "detent.commits": 1, "detent.events": 1 })
    const mine = spans.filter(({ name }) => name.startsWith("detent."))
    expect(mine.map(outcomeOf).filter((outcome) => outcome !== "Success")).toEqual([])
    expect(parentOf(named("detent.start")[0] as Tracer.Span)).toBeUndefined()
    expect(JSON.stringify(mine.map((span) => [span.name, attributesOf(span)]))).not.toMatch(/4711|webhook/)
  }).pipe(Effect.withTracer(tracer))
})

test("an event that is refused, postponed or meets a conflict has that outcome in its span", ({ open, quiet }) => {
  const { tracer, named, childrenOf } = recorder()
  return Effect.gen(function* () {
    const one = yield* open()
    const two = yield* open()
    const instance = yield* one.engine.start(order, "o-1")
    const late = yield* two.engine.ensure(order, "o-1")
    yield* late.state
    yield* Effect.flip(instance.send(E.Note()))
    const [refused] = named("detent.send")
    expect(outcomeOf(refused as Tracer.Span)).toBe("Failure")
    const waiting = yield* Effect.forkChild(instance.send(E.Wait()), { startImmediately: true })
    yield* quiet
    const postponed = named("detent.send").at(-1)
    expect(childrenOf(postponed).map(attributesOf)).toMatchObject([{ "detent.outcome": "Postponed" }])
    yield* instance.send(E.Pay({ card: "x" }))
    yield* quiet
    expect(waiting.pollUnsafe()?._tag).toBe("Success")
    expect(childrenOf(postponed).map(({ name }) => name)).toEqual(["detent.decide", "detent.decide", "detent.commit", "detent.carryOut"])
    const before = named("detent.send").length
    yield* late.send(E.Ping()).pipe(Effect.flip)
    yield* instance.send(E.Note())
    yield* late.send(E.Note())
    const [, , , conflicting] = named("detent.send").slice(before - 1)
    expect(childrenOf(conflicting).map((span) => [span.name, attributesOf(span)["detent.outcome"], outcomeOf(span)])).toEqual([
      ["detent.decide", "Stay", "Success"],
      ["detent.commit", "Conflict", "Failure"],
      ["detent.decide", "Stay", "Success"],
      ["detent.commit", undefined, "Success"],
      ["detent.carryOut", undefined, "Success"],
    ])
  }).pipe(Effect.withTracer(tracer))
})

test("a timer has a span with its name, in the trace of what set it", ({ open, pass, quiet }) => {
  const { tracer, named, childrenOf, parentOf } = recorder()
  return Effect.gen(function* () {
    const { engine } = yield* open()
    yield* Effect.withSpan(engine.start(order, "o-1"), "request")
    yield* pass("1 minute")
    yield* quiet
    const [timer] = named("detent.timer")
    expect(attributesOf(timer)).toMatchObject({
      "detent.machine": "order",
      "detent.id": "o-1",
      "detent.event": "timeout",
      "detent.due": 60_000,
    })
    expect(attributesOf(timer)).toMatchObject({ "detent.sequence": 1 })
    expect(parentOf(timer as Tracer.Span)?.spanId).toBe(named("detent.start")[0]?.spanId)
    expect(childrenOf(timer).map(({ name }) => name)).toEqual(["detent.decide", "detent.commit", "detent.carryOut"])
  }).pipe(Effect.withTracer(tracer))
})

test("a recovery has a span inside that of its caller", ({ open }) => {
  const { tracer, named, parentOf } = recorder()
  return Effect.gen(function* () {
    const first = yield* open()
    const instance = yield* first.engine.start(order, "o-1")
    for (let count = 0; count < 3; count++) yield* instance.send(E.Ping())
    yield* first.close
    const { engine } = yield* open()
    const again = yield* Effect.flatMap(engine.get(order, "o-1"), Effect.fromOption)
    yield* again.send(E.Ping())
    const [recover] = named("detent.recover")
    expect(parentOf(recover as Tracer.Span)).toBe(named("detent.send").at(-1))
    expect(attributesOf(recover)).toEqual({
      "detent.machine": "order",
      "detent.id": "o-1",
      "detent.state": "Open",
      "detent.sequence": 3,
      "detent.replayed": 3,
    })
  }).pipe(Effect.withTracer(tracer))
})

test("a sender's tracer gets the spans where the engine has none", ({ open }) => {
  const { tracer, spans, named } = recorder()
  return Effect.gen(function* () {
    const { engine } = yield* open()
    const instance = yield* engine.start(order, "o-1")
    yield* instance.send(E.Ping())
    expect(spans).toEqual([])
    yield* Effect.withTracer(instance.send(E.Ping()), tracer)
    expect(named("detent.send")).toHaveLength(1)
    expect(spans.map(({ name }) => name)).toEqual(["detent.send", "detent.decide", "detent.commit", "detent.carryOut"])
  })
})

test("there are no spans where tracing is off, or no tracer is installed", ({ open, pass }) => {
  const { tracer, spans } = recorder()
  const sends = (id: string) =>
    Effect.gen(function* () {
      const { engine } = yield* open()
      const instance = yield* engine.start(order, id)
      yield* Effect.withSpan(instance.send(E.Ping()), "request")
      yield* pass("1 minute")
    })
  return Effect.gen(function* () {
    yield* sends("o-1")
    yield* sends("o-2").pipe(Effect.withTracerEnabled(false), Effect.withTracer(tracer))
    expect(spans).toEqual([])
  })
})
