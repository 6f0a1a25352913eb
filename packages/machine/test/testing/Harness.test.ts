import { Event, Machine, Slot, State } from "@detent/machine"
import { createTestHarness } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Counter, Order, OrderEvent, OrderState, QueueEvent, Session, SessionEvent, SessionState, start } from "./machines.ts"

const pay = OrderEvent.Pay({ transactionId: "t-1", card: "4111" })

describe("a test harness", () => {
  it.effect("runs an unbuilt machine, and records effects without an implementation", () =>
    Effect.gen(function* () {
      const order = yield* createTestHarness(Order, start, { guards: { inStock: () => true } })
      yield* order.send(OrderEvent.RequestPayment())
      yield* order.send(pay)
      yield* order.send(OrderEvent.Ship())
      const { orderId } = yield* order.expectState("Picking")
      expect(orderId).toBe("7")
      expect(order.path).toEqual(["Pending", "Awaiting", "Paid", "Picking"])
      expect(order.requests).toEqual([
        { slot: "chargeCard", parameters: { amount: 42 } },
        { slot: "notifyWarehouse", parameters: { orderId: "7" } },
      ])
      expect(order.runs).toEqual([{ slot: "pickItems", parameters: { orderId: "7" } }])
      expect(order.errors).toEqual([])
    }),
  )

  it.effect("runs the effects it is given, with the services they need", () =>
    Effect.gen(function* () {
      class Prices extends Context.Service<Prices, { readonly currency: string }>()("test/Prices") {}
      const charged: Array<string> = []
      const order = yield* createTestHarness(Order, start, {
        guards: { inStock: () => true },
        effects: {
          chargeCard: ({ amount }) => Effect.map(Prices, ({ currency }) => void charged.push(`${amount} ${currency}`)),
          pickItems: (_, { self }) => Effect.ignore(self.send(OrderEvent.Picked())),
        },
      }).pipe(Effect.provideService(Prices, { currency: "EUR" }))
      yield* order.send(OrderEvent.RequestPayment())
      yield* order.send(pay)
      yield* order.send(OrderEvent.Ship())
      yield* order.expectState("Packing")
      expect(charged).toEqual(["42 EUR"])
    }),
  )

  it.effect("49 moves the clock, and lets happen what is due", () =>
    Effect.gen(function* () {
      const order = yield* createTestHarness(Order, start)
      yield* order.send(OrderEvent.RequestPayment())
      yield* order.advance("29 minutes")
      yield* order.expectState("Awaiting")
      yield* order.advance("1 minute")
      expect(yield* order.expectState("Cancelled")).toEqual(OrderState.Cancelled({ orderId: "7", reason: "not paid" }))
      expect(order.trace.steps.map((step) => [step.event, step.at])).toEqual([
        ["RequestPayment", 0],
        ["(timeout)", 30 * 60_000],
      ])
    }),
  )

  it.live("brings a clock of its own where the test has none", () =>
    Effect.gen(function* () {
      const order = yield* createTestHarness(Order, start)
      yield* order.send(OrderEvent.RequestPayment())
      yield* order.advance("30 minutes")
      yield* order.expectState("Cancelled")
      expect(order.trace.steps.map((step) => step.at)).toEqual([0, 30 * 60_000])
    }),
  )

  it.effect("53 idle and state timeouts", () =>
    Effect.gen(function* () {
      const session = yield* createTestHarness(Session, undefined)
      for (let click = 0; click < 6; click++) {
        yield* session.advance("9 minutes")
        yield* session.send(SessionEvent.Click())
      }
      yield* session.expectState("Active")
      yield* session.advance("6 minutes")
      expect(session.state).toEqual(SessionState.Expired({ clicks: 6, why: "too long" }))
    }),
  )

  it.effect("17 a refused event fails the send and is kept among the errors", () =>
    Effect.gen(function* () {
      const order = yield* createTestHarness(Order, start)
      const error = yield* Effect.flip(order.send(OrderEvent.Ship()))
      expect(error._tag).toBe("InvalidTransition")
      expect(order.errors).toHaveLength(1)
    }),
  )

  it.effect("31 sending does not hang on an event that is postponed", () =>
    Effect.gen(function* () {
      const counter = yield* createTestHarness(Counter, undefined)
      yield* counter.send(QueueEvent.Customer({ name: "Ann" }))
      expect(counter.state.handled).toEqual([])
      yield* counter.send(QueueEvent.Open())
      expect(counter.state.handled).toEqual(["opened", "ready", "Ann", "served Ann"])
    }),
  )

  it.effect("a guard without an answer says what to do", () =>
    Effect.gen(function* () {
      const order = yield* createTestHarness(Order, OrderState.Paid({ ...start, transactionId: "t-1" }))
      const error = yield* Effect.flip(order.send(OrderEvent.Ship()))
      expect(error.message).toContain("pass { guards: { inStock: () => true } } to the test helper, or call build({ ... }) first")
    }),
  )

  it.effect("the wrong state is reported with the path and what went wrong", () =>
    Effect.gen(function* () {
      const order = yield* createTestHarness(Order, start)
      yield* Effect.ignore(order.send(OrderEvent.Ship()))
      const cause = yield* Effect.sandbox(order.expectState("Paid")).pipe(Effect.flip)
      expect(String(cause)).toContain("order is in Pending, not in Paid")
      expect(String(cause)).toContain("path: Pending")
      expect(String(cause)).toContain("state Pending has no transition for event Ship")
    }),
  )

  it.effect("a task whose effect is only recorded waits for the test to send its outcome", () =>
    Effect.gen(function* () {
      const S = State({ Loading: {}, Loaded: { count: Schema.Number }, Failed: {} })
      const E = Event({ Done: { count: Schema.Number }, Broken: {} })
      const machine = Machine.make({
        name: "loader",
        state: S,
        event: E,
        effects: Slot.Effects({ load: Slot.effect({}, { success: Schema.Number }) }),
        initial: S.Loading(),
      })
        .task(S.Loading, ({ effects }) => effects.load(), { onSuccess: (count) => E.Done({ count }), onFailure: () => E.Broken() })
        .on(S.Loading, E.Done, S.Loaded)
        .on(S.Loading, E.Broken, S.Failed)
      const recorded = yield* createTestHarness(machine, undefined)
      yield* recorded.advance("1 hour")
      yield* recorded.expectState("Loading")
      expect(recorded.errors).toEqual([])
      yield* recorded.send(E.Done({ count: 3 }))
      yield* recorded.expectState("Loaded")
      const given = yield* createTestHarness(machine, undefined, { effects: { load: () => Effect.delay(Effect.succeed(5), "1 second") } })
      yield* given.advance("1 second")
      expect(yield* given.expectState("Loaded")).toEqual(S.Loaded({ count: 5 }))
    }),
  )

  it.effect("the states passed through at the start are part of the path", () =>
    Effect.gen(function* () {
      const session = yield* createTestHarness(Session, SessionState.Sorting({ clicks: 5 }))
      expect(session.path).toEqual(["Sorting", "Busy", "Quiet"])
    }),
  )
})
