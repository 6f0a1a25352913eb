import { ActorSystem, Event, type Inspection, Machine, State, timeoutEvent } from "@detent/machine"
import { simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { appendTrace, beginTrace, traceOfHistory, traceOfInspections } from "../../src/actor/Trace.ts"
import { Order, OrderEvent, OrderState, Session, SessionEvent, SessionState, start } from "./machines.ts"

describe("a trace", () => {
  it("132 hides sensitive fields", () => {
    const { trace } = simulate(Order, start, [
      OrderEvent.RequestPayment(),
      OrderEvent.Pay({ transactionId: "t-1", card: "4111 1111 1111 1111" }),
    ])
    expect(trace.steps[1]).toEqual({
      sequence: 2,
      at: 0,
      event: "Pay",
      fields: { transactionId: "t-1", card: "•••" },
      from: "Awaiting",
      to: "Paid",
      outcome: "Goto",
      through: [],
      requests: ["chargeCard"],
    })
    expect(JSON.stringify(trace)).not.toContain("4111")
  })

  it("132 hides sensitive fields that are optional", () => {
    const S = State({ A: {}, B: {} })
    const E = Event({
      Go: { pin: Schema.optionalKey(Event.sensitive(Schema.String)), code: Event.sensitive(Schema.optional(Schema.String)) },
    })
    const machine = Machine.make({ name: "m", state: S, event: E, initial: S.A() }).on(S.A, E.Go, S.B)
    const { trace } = simulate(machine, undefined, [E.Go({ pin: "1234", code: "5678" })])
    expect(trace.steps[0]?.fields).toEqual({ pin: "•••", code: "•••" })
  })

  it("shows the states that automatic transitions passed through", () => {
    const { trace } = simulate(Session, SessionState.Active({ clicks: 5 }), [SessionEvent.Sort()])
    expect(trace.steps).toMatchObject([{ from: "Active", through: ["Sorting", "Busy"], to: "Quiet" }])
  })

  it("grows by one decision at a time", () => {
    const first = OrderState.Pending(start)
    const decision = Machine.decide(Order.build(handlers), first, OrderEvent.RequestPayment())
    const trace = beginTrace(Order, "order-7", first, 100)
    if (decision._tag !== "Goto") throw new Error("not decided")
    expect(appendTrace(Order, trace, decision, 200)).toMatchObject({
      id: "order-7",
      initial: "Pending",
      startedAt: 100,
      current: "Awaiting",
      steps: [{ sequence: 1, at: 200, event: "RequestPayment" }],
    })
    expect(trace.steps).toEqual([])
  })

  it.effect("is made from the inspections of an actor system", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem.make
      const inspections: Array<Inspection> = []
      system.inspectUnsafe((inspection) => inspections.push(inspection))
      const machine = Order.build(handlers)
      const order = yield* system.spawn("order-7", machine, start)
      const other = yield* system.spawn("order-8", machine, start)
      yield* order.send(OrderEvent.RequestPayment())
      yield* other.send(OrderEvent.Cancel({ reason: "changed my mind" }))
      yield* order.stop("enough")
      expect(traceOfInspections(Order, "order-7", inspections)).toMatchObject({
        steps: [{ from: "Pending", to: "Awaiting" }],
        current: "Awaiting",
        stopped: "enough",
      })
      expect(traceOfInspections(Order, "order-9", inspections)).toBeUndefined()
    }),
  )

  it.effect("is that of the latest actor where an id was used again", () =>
    Effect.gen(function* () {
      const system = yield* ActorSystem.make
      const inspections: Array<Inspection> = []
      system.inspectUnsafe((inspection) => inspections.push(inspection))
      const first = yield* system.spawn("session", Session)
      yield* first.send(SessionEvent.Click())
      yield* first.stop()
      yield* system.spawn("session", Session)
      expect(traceOfInspections(Session, "session", inspections)).toMatchObject({ steps: [], stopped: undefined })
    }),
  )
})

const handlers = {
  inStock: () => true,
  notifyWarehouse: () => Effect.void,
  chargeCard: () => Effect.void,
  pickItems: () => Effect.void,
}

describe("the trace of a journal", () => {
  it("is the trace of the decisions, with what is hidden, passed through and requested", () => {
    const { trace, decisions } = recorded([
      OrderEvent.RequestPayment(),
      OrderEvent.Pay({ transactionId: "t-1", card: "4111 1111 1111 1111" }),
    ])
    const history = decisions.map(({ from, state, event, _tag, through, requests }, index) => ({
      sequence: index + 1,
      at: 0,
      event,
      from,
      state,
      outcome: _tag,
      through,
      requests: requests.map(({ slot }) => slot),
    }))
    const instance = { id: trace.id, startedAt: trace.startedAt, state: { _tag: trace.current }, status: "running", reason: undefined }
    expect(traceOfHistory(Order, instance, history)).toEqual(trace)
  })

  it("goes by the tags where no outcome is given, and tells why the instance was stopped", () => {
    const pending = { _tag: "Pending" }
    const instance = { id: "o-1", startedAt: 5, state: { _tag: "Awaiting" }, status: "stopped", reason: "closed" }
    expect(traceOfHistory(Order, instance, [])).toMatchObject({ initial: "Awaiting", current: "Awaiting", steps: [], stopped: "closed" })
    expect(
      traceOfHistory(Order, instance, [
        { sequence: 7, at: 6, event: OrderEvent.GetTotal(), from: pending, state: pending },
        { sequence: 8, at: 9, event: timeoutEvent("late"), from: pending, state: { _tag: "Awaiting" } },
      ]),
    ).toMatchObject({
      initial: "Pending",
      current: "Awaiting",
      steps: [
        { sequence: 7, event: "GetTotal", outcome: "Stay", through: [], requests: [] },
        { sequence: 8, event: "(late)", fields: {}, outcome: "Goto" },
      ],
    })
  })
})

/** Decides on events one after the other. */
const recorded = (events: ReadonlyArray<typeof OrderEvent.Type>) => {
  let state: typeof OrderState.Type = OrderState.Pending(start)
  let trace = beginTrace(Order, "order", state, 0)
  const built = Order.build({
    inStock: () => true,
    chargeCard: () => Effect.void,
    notifyWarehouse: () => Effect.void,
    pickItems: () => Effect.void,
  })
  const decisions = events.map((event) => {
    const decision = Machine.decide(built, state, event)
    if (decision._tag !== "Goto" && decision._tag !== "Stay") return expect.fail(decision._tag)
    state = decision.state
    trace = appendTrace(Order, trace, decision, 0)
    return decision
  })
  return { trace, decisions }
}
