import { type DefinitionError, Event, Machine, State, stay, stop } from "@detent/machine"
import { advance, SimulationFailed, simulate, simulateEffect } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  Counter,
  Lamp,
  LampEvent,
  Order,
  OrderEvent,
  OrderState,
  QueueEvent,
  QueueState,
  Session,
  SessionEvent,
  SessionState,
  start,
} from "./machines.ts"

const pay = OrderEvent.Pay({ transactionId: "t-1", card: "4111" })
const inStock = { guards: { inStock: () => true } }

const thrownBy = (run: () => unknown): Error => {
  try {
    run()
  } catch (error) {
    return error as Error
  }
  throw new Error("nothing was thrown")
}

describe("simulate", () => {
  it("15 starts in the initial state with nothing done", () => {
    const { state, path, decisions, trace } = simulate(Order, start, [])
    expect(state).toEqual(OrderState.Pending(start))
    expect(path).toEqual(["Pending"])
    expect(decisions).toEqual([])
    expect(trace).toMatchObject({ machine: "order", initial: "Pending", current: "Pending", steps: [] })
  })

  it("16 moves from state to state, and collects what was requested on the way", () => {
    const events = [OrderEvent.RequestPayment(), pay, OrderEvent.Ship(), OrderEvent.Picked(), OrderEvent.Deliver()]
    const { path, state, requests, status, refusals } = simulate(Order, start, events, inStock)
    expect(path).toEqual(["Pending", "Awaiting", "Paid", "Picking", "Packing", "Delivered"])
    expect(state).toEqual(OrderState.Delivered({ orderId: "7" }))
    expect(requests).toEqual([
      { slot: "chargeCard", parameters: { amount: 42 } },
      { slot: "notifyWarehouse", parameters: { orderId: "7" } },
    ])
    expect(status).toBe("final")
    expect(refusals).toEqual([])
  })

  it("starts from a state, and collects what entering it requests", () => {
    const paid = OrderState.Paid({ ...start, transactionId: "t-1" })
    const { path, requests } = simulate(Order, paid, [OrderEvent.Ship()], { guards: { inStock: () => false } })
    expect(path).toEqual(["Paid", "Cancelled"])
    expect(requests).toEqual([{ slot: "chargeCard", parameters: { amount: 42 } }])
  })

  it("17 an unhandled event is refused with state and event, and nothing changes", () => {
    const { path, decisions, refusals } = simulate(Order, start, [OrderEvent.Ship(), OrderEvent.RequestPayment()])
    expect(path).toEqual(["Pending", "Awaiting"])
    expect(decisions).toHaveLength(1)
    expect(refusals).toMatchObject([{ event: OrderEvent.Ship(), state: { _tag: "Pending" }, error: { _tag: "InvalidTransition" } }])
  })

  it("18 staying leaves the path as it is and is still a decision", () => {
    const { path, decisions } = simulate(Order, start, [OrderEvent.GetTotal()])
    expect(path).toEqual(["Pending"])
    expect(decisions).toMatchObject([{ _tag: "Stay", answer: 42 }])
  })

  it("21, 22 a stop has its reason, and what is sent later is refused with it", () => {
    const { status, stopped, refusals } = simulate(Order, OrderState.Picking({ orderId: "7" }), [
      OrderEvent.Shutdown(),
      OrderEvent.Picked(),
    ])
    expect({ status, stopped }).toEqual({ status: "stopped", stopped: "shut down" })
    expect(refusals.map(({ error }) => error.message)).toEqual(["order has ended in state Picking: shut down"])
  })

  it("27 events sent to itself are handled before those of others, in order", () => {
    const { state } = simulate(Counter, undefined, [QueueEvent.Open(), QueueEvent.Customer({ name: "Ann" })])
    expect(state.handled).toEqual(["opened", "ready", "Ann", "served Ann"])
  })

  it("146 what an event sent to itself sends comes after what was sent before", () => {
    const open = QueueState.Open({ handled: [] })
    expect(simulate(Counter, open, [QueueEvent.Twice({ name: "Ann" })]).state.handled).toEqual(["Ann", "again Ann"])
  })

  it("22 events that were postponed are refused at the end", () => {
    const customer = QueueEvent.Customer({ name: "Ann" })
    const { refusals, postponed } = simulate(Counter, undefined, [customer, QueueEvent.Move()])
    expect(refusals).toMatchObject([{ event: customer, error: { _tag: "MachineStopped" } }])
    expect(postponed).toEqual([])
  })

  it("31 postponed events are handled in order on the next change of state", () => {
    const customers = ["Ann", "Bob", "Cem"].map((name) => QueueEvent.Customer({ name }))
    const waiting = simulate(Counter, undefined, [...customers, QueueEvent.Open()])
    expect(waiting.state).toEqual(QueueState.Busy({ handled: ["opened", "ready", "Ann", "served Ann"] }))
    expect(waiting.postponed).toEqual(customers.slice(1))
    const { state, postponed } = simulate(Counter, undefined, [...customers, QueueEvent.Open(), QueueEvent.Rest()])
    expect(state.handled).toEqual(["opened", "ready", "Ann", "served Ann", "Bob", "served Bob"])
    expect(postponed).toEqual(customers.slice(2))
  })

  it("35 an event whose fields do not fit is refused before it is decided on", () => {
    const { refusals } = simulate(Order, start, [{ _tag: "Cancel", reason: 7 } as never])
    expect(refusals).toMatchObject([{ error: { _tag: "InvalidEvent", event: "Cancel" } }])
  })

  it("37 automatic transitions: the first that holds, one after the other", () => {
    const sorted = (clicks: number) => simulate(Session, SessionState.Active({ clicks }), [SessionEvent.Sort()]).path
    expect(sorted(1)).toEqual(["Active", "Sorting", "Quiet"])
    expect(sorted(3)).toEqual(["Active", "Sorting", "Busy"])
    expect(sorted(5)).toEqual(["Active", "Sorting", "Busy", "Quiet"])
  })

  it("31 tens of thousands of postponed events are handled in order", () => {
    const S = State({ Closed: {}, Open: { last: Schema.Number } })
    const E = Event({ Come: { n: Schema.Number }, Unlock: {} })
    const door = Machine.make({ name: "door", state: S, event: E, initial: S.Closed() })
      .postpone(S.Closed, E.Come)
      .on(S.Closed, E.Unlock, S.Open, () => S.Open({ last: 0 }))
      .on(S.Open, E.Come, S.Open, ({ state, event }) => {
        if (event.n !== state.last + 1) throw new Error(`${event.n} came after ${state.last}`)
        return S.Open({ last: event.n })
      })
    const count = 30_000
    const guests = Array.from({ length: count }, (_, index) => E.Come({ n: index + 1 }))
    const { state, refusals } = simulate(door, undefined, [...guests, E.Unlock()], { limit: 3 * count })
    expect(state).toEqual(S.Open({ last: count }))
    expect(refusals).toEqual([])
  })

  it("38 a decision that throws is a refusal with its cause, and the machine continues", () => {
    const S = State({ A: {}, B: {} })
    const E = Event({ Fail: {}, Go: {} })
    const fragile = Machine.make({ name: "fragile", state: S, event: E, initial: S.A() })
      .on(S.A, E.Fail, S.B, () => {
        throw new Error("boom")
      })
      .on(S.A, E.Go, S.B)
    const { path, refusals } = simulate(fragile, undefined, [E.Fail(), E.Go()])
    expect(path).toEqual(["A", "B"])
    expect(refusals[0]?.error.message).toBe("fragile: decide failed in state A on event Fail, nothing changed: boom")
  })
})

describe("time in a simulation", () => {
  it("49, 50 a timeout fires when its time has come, and never once its state was left", () => {
    const late = simulate(Order, start, [OrderEvent.RequestPayment(), advance("29 minutes"), advance("1 minute")])
    expect(late.state).toEqual(OrderState.Cancelled({ orderId: "7", reason: "not paid" }))
    expect(late.decisions.at(-1)?.event).toEqual({ _tag: "@timeout", name: "timeout" })
    const inTime = simulate(Order, start, [OrderEvent.RequestPayment(), advance("29 minutes"), pay, advance("1 day")])
    expect(inTime.path).toEqual(["Pending", "Awaiting", "Paid"])
  })

  it("52 several timeouts of one state fire in the order of their deadlines, each with its own target", () => {
    const quiet = simulate(Session, SessionState.Quiet({ clicks: 1 }), [advance("5 minutes")])
    expect(quiet.trace.steps.map(({ event, at, to }) => [event, at / 60_000, to])).toEqual([
      ["(tick)", 2, "Quiet"],
      ["(back)", 5, "Active"],
    ])
  })

  it("53 an idle timeout restarts with every event, a state timeout does not", () => {
    const clicking = Array.from({ length: 8 }, () => [advance("9 minutes"), SessionEvent.Click()]).flat()
    const { path, state, at } = simulate(Session, undefined, clicking)
    expect(path).toEqual(["Active", "Expired"])
    expect(state).toEqual(SessionState.Expired({ clicks: 6, why: "too long" }))
    expect(at).toBe(72 * 60_000)
  })

  it("54 the timeouts of the initial state run from the start", () => {
    expect(simulate(Session, undefined, [advance("11 minutes")]).path).toEqual(["Active", "Warned", "Expired"])
  })

  it("20, 51 reentering restarts the timers of the state", () => {
    const events = [advance("9 minutes"), SessionEvent.Refresh(), advance("9 minutes")]
    expect(simulate(Session, undefined, events).path).toEqual(["Active", "Active"])
  })

  it("starts at a given time and lets some pass before each event", () => {
    const events = [SessionEvent.Click(), SessionEvent.Click()]
    const { trace, at } = simulate(Session, undefined, events, { at: 1_000, between: "1 second" })
    expect(trace.startedAt).toBe(1_000)
    expect(trace.steps.map((step) => step.at)).toEqual([2_000, 3_000])
    expect(at).toBe(3_000)
  })
})

describe("where a simulation cannot continue", () => {
  it("a guard without an answer is named, with what to do", () => {
    const paid = OrderState.Paid({ ...start, transactionId: "t-1" })
    const error = thrownBy(() => simulate(Order, paid, [OrderEvent.Ship()]))
    expect(error).toBeInstanceOf(SimulationFailed)
    expect(error.message).toBe(
      "order: the simulation cannot continue at Paid × Ship: the guard inStock has no implementation; " +
        "pass { guards: { inStock: () => true } } to the test helper, or call build({ ... }) first",
    )
  })

  it("an answer for a guard that does not exist is refused", () => {
    const error = thrownBy(() => simulate(Order, start, [], { guards: { instock: () => true } as never })) as DefinitionError
    expect(error.message).toBe("machine order: instock is not a guard slot; the guard slots are inStock")
  })

  it("a decision that is an Effect is named; simulateEffect runs it", async () => {
    const events = [LampEvent.Check(), LampEvent.Switch(), LampEvent.Check()]
    expect(thrownBy(() => simulate(Lamp, undefined, events)).message).toBe(
      "lamp: the simulation cannot continue at Off × Check: its decision is an Effect; use simulateEffect",
    )
    const { path, decisions } = await Effect.runPromise(simulateEffect(Lamp, undefined, events))
    expect(path).toEqual(["Off", "On", "Broken"])
    expect(decisions.map((decision) => decision._tag)).toEqual(["Stay", "Goto", "Goto"])
  })

  it.effect("simulateEffect fails where simulate throws", () =>
    Effect.gen(function* () {
      const paid = OrderState.Paid({ ...start, transactionId: "t-1" })
      const error = yield* Effect.flip(simulateEffect(Order, paid, [OrderEvent.Ship()]))
      expect(error._tag).toBe("SimulationFailed")
    }),
  )

  it("37 an endless chain of automatic transitions at the start is reported", () => {
    const S = State({ A: {}, B: {} })
    const spinning = Machine.make({ name: "spinning", state: S, event: Event({ Go: {} }), initial: S.A() })
      .always(S.A, () => true, S.B)
      .always(S.B, () => true, S.A)
    expect(thrownBy(() => simulate(spinning, undefined, [])).message).toContain("do not end: A → B → A → B")
  })

  it("events that trigger each other come to an end", () => {
    const S = State({ A: {} })
    const E = Event({ Ping: {} })
    const endless = Machine.make({ name: "endless", state: S, event: E, initial: S.A() }).on(S.A, E.Ping, stay, ({ self }) => {
      self.send(E.Ping())
      return stay
    })
    expect(thrownBy(() => simulate(endless, undefined, [E.Ping()], { limit: 50 })).message).toContain(
      "it handled 50 events and more follow",
    )
  })

  it("timeouts of no duration that trigger each other come to an end", () => {
    const S = State({ A: {}, B: {} })
    const endless = Machine.make({ name: "endless", state: S, event: Event({ Go: {} }), initial: S.A() })
      .timeout(S.A, 0, S.B)
      .timeout(S.B, 0, S.A)
    expect(thrownBy(() => simulate(endless, undefined, [])).message).toContain("it handled 10000 events and more follow")
  })

  it("an initial function that throws is reported", () => {
    const S = State({ A: { id: Schema.String } })
    const picky = Machine.make({
      name: "picky",
      state: S,
      event: Event({ Go: {} }),
      initial: (input: { readonly id: string }) => {
        if (input.id === "") throw new Error("no id")
        return S.A(input)
      },
    })
    expect(thrownBy(() => simulate(picky, { id: "" }, [])).message).toContain("initial failed: no id")
  })

  it("a stop right after an automatic transition shows the state it stopped in", () => {
    const S = State({ A: {}, B: {} })
    const E = Event({ Go: {} })
    const machine = Machine.make({ name: "stopping", state: S, event: E, initial: S.A() })
      .on(S.A, E.Go, S.B)
      .always(S.B, () => true, stop("done"))
    expect(simulate(machine, undefined, [E.Go()])).toMatchObject({ path: ["A", "B"], stopped: "done" })
  })
})
