/** Definitions change while instances live on. */
import { Event, Machine, RetryPolicy, State } from "@detent/machine"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Upcasters } from "../../src/machine/Upcasters.ts"
import type { Kit } from "./Rig.ts"

const S1 = State({ Cart: { total: Schema.Number }, Paid: { total: Schema.Number } })
const E1 = Event({ Put: { price: Schema.Number }, Pay: {}, Gift: {} })
const first = Machine.make({ name: "order", state: S1, event: E1, initial: S1.Cart({ total: 0 }) })
  .on(S1.Cart, E1.Put, S1.Cart, ({ state, event }) => S1.Cart({ total: state.total + event.price }))
  .on(S1.Cart, E1.Gift, S1.Cart, () => S1.Cart({ total: 0 }))
  .on(S1.Cart, E1.Pay, S1.Paid)

const S2 = State({
  Cart: { total: Schema.Number, currency: Schema.String },
  Paid: { total: Schema.Number, currency: Schema.String },
})
const E2 = Event({ Put: { price: Schema.Number, quantity: Schema.Number }, Pay: {}, Gift: {} })
const second = Machine.make({ name: "order", version: 2, state: S2, event: E2, initial: S2.Cart({ total: 0, currency: "EUR" }) })
  .on(S2.Cart, E2.Put, S2.Cart, ({ state, event }) => S2.Cart({ ...state, total: state.total + event.price * event.quantity }))
  .on(S2.Cart, E2.Gift, S2.Cart, ({ state }) => S2.Cart({ ...state, total: 0 }))
  .on(S2.Cart, E2.Pay, S2.Paid)
  .on(S2.Paid, E2.Gift, S2.Cart)

const upcasters: Upcasters = {
  1: {
    state: (state) => ({ ...state, currency: "EUR" }),
    event: (event) => ("price" in event ? { ...event, quantity: 1 } : event),
  },
}

/** The first version with one event less. */
const E3 = Event({ Put: { price: Schema.Number }, Pay: {} })
const without = Machine.make({ name: "order", state: S1, event: E3, initial: S1.Cart({ total: 0 }) })
  .on(S1.Cart, E3.Put, S1.Cart, ({ state, event }) => S1.Cart({ total: state.total + event.price }))
  .on(S1.Cart, E3.Pay, S1.Paid)

/** The first version where a paid order takes nothing, and a cart cannot be paid. */
const strict = Machine.make({ name: "order", state: S1, event: E1, initial: S1.Cart({ total: 0 }) })
  .on(S1.Cart, E1.Put, S1.Cart, ({ state, event }) => S1.Cart({ total: state.total + event.price }))
  .on(S1.Cart, E1.Gift, S1.Cart, () => S1.Cart({ total: 0 }))

const key = (id: string) => ({ machine: "order", id })

export const versions = ({ describe, test }: Kit) =>
  describe("versions", () => {
    test("134 what version 1 stored opens with version 2 through its upcasters, from events and from a snapshot", ({ open, events }) =>
      Effect.gen(function* () {
        const old = yield* open()
        for (const [id, machine] of [
          ["events", first],
          ["snapshot", first],
        ] as const) {
          const order = yield* old.engine.start(machine, id)
          yield* order.send(E1.Put({ price: 5 }))
          if (id === "snapshot") yield* order.saveSnapshot
          yield* order.send(E1.Put({ price: 7 }))
        }
        yield* old.close
        const { engine } = yield* open()
        yield* engine.register(second, { upcasters })
        for (const id of ["events", "snapshot"]) {
          const order = yield* Effect.flatMap(engine.get(second, id), Effect.fromOption)
          expect(yield* order.state).toEqual(S2.Cart({ total: 12, currency: "EUR" }))
          yield* order.send(E2.Put({ price: 10, quantity: 3 }))
          expect(yield* order.state).toEqual(S2.Cart({ total: 42, currency: "EUR" }))
          expect(yield* order.stateAt(1)).toEqual(S2.Cart({ total: 5, currency: "EUR" }))
          expect(yield* events(key(id))).toHaveLength(3)
        }
      }))

    test("134 upcasters count whenever they are registered", ({ open }) =>
      Effect.gen(function* () {
        const old = yield* open()
        yield* (yield* old.engine.start(first, "o")).send(E1.Put({ price: 5 }))
        yield* old.close
        const { engine } = yield* open()
        const order = yield* Effect.flatMap(engine.get(second, "o"), Effect.fromOption)
        expect(yield* Effect.flip(order.state)).toMatchObject({ _tag: "EventReplayError" })
        yield* engine.register(second, { upcasters })
        const again = yield* Effect.flatMap(engine.get(second, "o"), Effect.fromOption)
        expect(yield* again.state).toEqual(S2.Cart({ total: 5, currency: "EUR" }))
      }))

    test("135 a missing upcaster holds the instance with a clear error, and the right one releases it", ({ open, record }) =>
      Effect.gen(function* () {
        const old = yield* open()
        yield* (yield* old.engine.start(first, "o")).send(E1.Put({ price: 5 }))
        yield* old.close
        const broken = yield* open()
        yield* broken.engine.register(second)
        const order = yield* Effect.flatMap(broken.engine.get(second, "o"), Effect.fromOption)
        const error = yield* Effect.flip(order.send(E2.Pay()))
        expect(error).toMatchObject({ _tag: "EventReplayError", id: "o", sequence: 0 })
        expect(error.message).toMatch(/no upcaster reads version 1; register one for 1 → 2/)
        expect(yield* record(key("o"))).toMatchObject({ status: "held", reason: expect.stringMatching(/no upcaster/) })
        yield* broken.close
        const { engine } = yield* open()
        yield* engine.register(second, { upcasters })
        const again = yield* Effect.flatMap(engine.get(second, "o"), Effect.fromOption)
        yield* again.send(E2.Pay())
        expect(yield* record(key("o"))).toMatchObject({ status: "running", tag: "Paid", version: 2 })
      }))

    test("135 an older definition does not open what a newer one wrote", ({ open }) =>
      Effect.gen(function* () {
        const newer = yield* open()
        yield* (yield* newer.engine.start(second, "o")).send(E2.Pay())
        yield* newer.close
        const { engine } = yield* open()
        const order = yield* Effect.flatMap(engine.get(first, "o"), Effect.fromOption)
        expect((yield* Effect.flip(order.state)).message).toBe("order o was written by version 2, this process has 1; deploy it here too")
      }))

    test("136 the check lists an instance that a changed decision would put into another state", ({ open }) =>
      Effect.gen(function* () {
        const Sized = State({ Open: {}, Small: {}, Large: {} })
        const Sizing = Event({ Measure: { size: Schema.Int } })
        const sized = (limit: number, version = 1) =>
          Machine.make({ name: "sized", version, state: Sized, event: Sizing, initial: Sized.Open() }).on(
            Sized.Open,
            Sizing.Measure,
            [Sized.Small, Sized.Large],
            ({ event }) => (event.size < limit ? Sized.Small() : Sized.Large()),
          )
        const { engine } = yield* open()
        yield* (yield* engine.start(sized(10), "five")).send(Sizing.Measure({ size: 5 }))
        yield* (yield* engine.start(sized(10), "one")).send(Sizing.Measure({ size: 1 }))
        expect(yield* engine.check(sized(10))).toEqual({ checked: 2, failing: [] })
        const problem = expect.stringContaining("it is stored in Small and replays to Large")
        expect(yield* engine.check(sized(3))).toEqual({ checked: 2, failing: [{ id: "five", sequence: 1, problem }] })
        expect(yield* engine.check(sized(3, 2), { upcasters: { 1: {} } })).toMatchObject({ failing: [{ id: "five" }] })
        // An upcaster of states may rename them.
        const renaming = { upcasters: { 1: { state: (state: object) => ({ ...state }) } } }
        expect(yield* engine.check(sized(3, 2), renaming)).toEqual({ checked: 2, failing: [] })
      }))

    test("136 the check lists every instance that would fail and none that would not, and touches none", ({ open, record }) =>
      Effect.gen(function* () {
        const { engine } = yield* open()
        for (const id of ["a", "b", "c", "d"]) yield* (yield* engine.start(first, id)).send(E1.Put({ price: 1 }))
        yield* (yield* Effect.flatMap(engine.get(first, "b"), Effect.fromOption)).send(E1.Gift())
        yield* (yield* Effect.flatMap(engine.get(first, "d"), Effect.fromOption)).send(E1.Gift())
        const report = yield* engine.check(without)
        expect(report.checked).toBe(4)
        expect([...report.failing].sort((left, right) => left.id.localeCompare(right.id))).toMatchObject([
          { id: "b", sequence: 2, problem: expect.stringMatching(/Gift is not an event of this machine/) },
          { id: "d", sequence: 2 },
        ])
        expect(yield* engine.check(second)).toMatchObject({ checked: 4, failing: { length: 4 } })
        expect(yield* engine.check(second, { upcasters })).toEqual({ checked: 4, failing: [] })
        expect(yield* engine.check(first)).toEqual({ checked: 4, failing: [] })
        for (const id of ["a", "b", "c", "d"]) expect((yield* record(key(id))).status).toBe("running")
      }))

    test("77 an event that no longer fits holds the instance: the error has state, event and sequence, and it is listed", ({
      open,
      record,
      events,
    }) =>
      Effect.gen(function* () {
        const old = yield* open()
        const order = yield* old.engine.start(first, "o")
        for (const event of [E1.Put({ price: 5 }), E1.Pay()]) yield* order.send(event)
        yield* old.close
        const { engine } = yield* open()
        const held = yield* Effect.flatMap(engine.get(strict, "o"), Effect.fromOption)
        const error = yield* Effect.flip(held.send(E1.Gift()))
        expect(error).toMatchObject({ _tag: "EventReplayError", machine: "order", id: "o", state: "Cart", event: "Pay", sequence: 2 })
        expect((yield* engine.list(strict, { status: "held" })).instances).toMatchObject([{ id: "o", reason: error.message }])
        expect((yield* engine.list(strict, { status: "running" })).instances).toEqual([])
        expect(yield* events(key("o"))).toHaveLength(2)
        expect(yield* engine.live).toBe(0)
        const fixed = yield* open()
        const again = yield* Effect.flatMap(fixed.engine.get(first, "o"), Effect.fromOption)
        expect(yield* again.state).toEqual(S1.Paid({ total: 5 }))
        expect(yield* record(key("o"))).toMatchObject({ status: "running", sequence: 2 })
      }))

    test("77 a definition that fits again releases held instances when it is registered, with their work and deadlines", ({
      open,
      record,
      pass,
      eventually,
    }) =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const timed = (machine: "whole" | "broken") => {
          const base = Machine.make({ name: "order", state: S1, event: E1, initial: S1.Cart({ total: 0 }) })
          const started = machine === "whole" ? base.on(S1.Cart, E1.Put, S1.Cart, ({ state }) => state) : base
          return started.timeout(S1.Cart, "1 minute", S1.Paid).spawn(S1.Cart, () =>
            Effect.andThen(
              Effect.sync(() => void log.push(machine)),
              Effect.never,
            ),
          )
        }
        const old = yield* open()
        yield* (yield* old.engine.start(timed("whole"), "o")).send(E1.Put({ price: 5 }))
        yield* old.close
        log.length = 0
        const broken = yield* open({ sweeper: { interval: "1 second", retry: RetryPolicy.fixed({ delay: 0, maxAttempts: 2 }) } })
        yield* broken.engine.register(timed("broken"))
        for (let minute = 0; minute < 10; minute++) yield* pass("1 minute")
        expect(yield* record(key("o"))).toMatchObject({ status: "held" })
        yield* broken.close
        expect(log).toEqual([])
        const { engine } = yield* open()
        yield* engine.register(timed("whole"))
        // The sweeper may be opening it at the same time, for its deadline.
        yield* eventually(
          Effect.sync(() => log),
          (lines) => lines.length > 0,
        )
        expect(log).toEqual(["whole"])
        yield* pass("1 millis")
        yield* eventually(record(key("o")), ({ tag }) => tag === "Paid")
      }))

    test("77 and 78 an instance that has ended stays ended, also where it no longer fits", ({ open, record }) =>
      Effect.gen(function* () {
        const ending = Machine.make({ name: "order", state: S1, event: E1, initial: S1.Cart({ total: 0 }) })
          .on(S1.Cart, E1.Pay, S1.Paid)
          .final(S1.Paid)
        const old = yield* open()
        yield* (yield* old.engine.start(ending, "o")).send(E1.Pay())
        yield* old.close
        const { engine } = yield* open()
        const order = yield* Effect.flatMap(engine.get(strict, "o"), Effect.fromOption)
        expect(yield* Effect.flip(order.state)).toMatchObject({ _tag: "EventReplayError" })
        expect(yield* record(key("o"))).toMatchObject({ status: "final" })
        expect(Option.isSome(yield* engine.get(strict, "o"))).toBe(true)
      }))
  })
