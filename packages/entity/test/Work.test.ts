import { MachineStopped, spawn } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { EntityWorkflow } from "../src/index.ts"
import { makeRegistry, ticket, trap, World } from "./tickets.ts"

/** Lets everything that is ready happen. */
const settle = Effect.andThen(TestClock.adjust(0), Effect.yieldNow)

describe("processors with effects", () => {
  const make = (world: World) =>
    EntityWorkflow.make(makeRegistry(world), {
      name: "booking",
      states: ["new", "booked", "mailed", "cancelled", "failed"],
      initial: "new",
      ends: ["mailed", "cancelled"],
      failure: "fail",
      transitions: [
        { name: "book", from: "new", to: "booked", processors: ["a", "book", "b"], criteria: ["booked"], criteriaAfter: true },
        { name: "mail", from: "booked", to: "mailed", manual: true, processors: ["mail"] },
        { name: "cancel", from: "*", to: "cancelled", manual: true },
        { name: "fail", from: "*", to: "failed" },
        { name: "retry", from: "failed", to: "new", manual: true },
      ],
    })

  it.effect("run in order on a draft, after the state that says so is there; the entity changes with the transition", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* settle
      const pending = yield* actor.state
      expect(pending).toMatchObject({ _tag: "new", entity: ticket(), pending: { transition: "book", run: 1 } })
      expect(world.calls).toEqual(["book booking/booking/1/1/book 1"])
      yield* open
      const booked = yield* actor.waitFor((state) => state._tag === "booked")
      expect(booked).toEqual({ _tag: "booked", entity: { amount: 0, log: ["a", "book", "b"] }, runs: 1, chain: 1 })
    }),
  )

  it.effect("that fail are tried again after the delay of their policy, with the same key, from the one that failed", () =>
    Effect.gen(function* () {
      const world = new World()
      world.failures.set("book", 2)
      const actor = yield* spawn(make(world).machine, ticket())
      yield* settle
      expect(yield* actor.state).toMatchObject({ _tag: "new", error: { processor: "book", message: "book is down", attempts: 1 } })
      yield* TestClock.adjust("9 seconds")
      expect(world.calls.length).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* actor.state).toMatchObject({ _tag: "new", error: { attempts: 2 } })
      yield* TestClock.adjust("10 seconds")
      const booked = yield* actor.waitFor((state) => state._tag === "booked")
      expect(booked.error).toBeUndefined()
      expect(booked.entity.log).toEqual(["a", "book", "b"])
      expect(world.calls).toEqual([1, 2, 3].map((attempt) => `book booking/booking/1/1/book ${attempt}`))
    }),
  )

  it.effect("that fail for good leave the entity as it was and take the failure transition, which keeps the error", () =>
    Effect.gen(function* () {
      const world = new World()
      world.failures.set("book", 3)
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* TestClock.adjust("20 seconds")
      const failed = yield* actor.waitFor((state) => state._tag === "failed")
      expect(failed).toMatchObject({ entity: ticket(), error: { transition: "book", processor: "book", attempts: 3 } })
      yield* actor.send(Booking.trigger("retry"))
      const booked = yield* actor.waitFor((state) => state._tag === "booked")
      expect(booked.error).toBeUndefined()
      expect(world.calls.at(-1)).toBe("book booking/booking/2/1/book 1")
    }),
  )

  it.effect("follow an exponential policy up to its longest delay", () =>
    Effect.gen(function* () {
      const world = new World()
      world.failures.set("mail", 3)
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* actor.waitFor((state) => state._tag === "booked")
      yield* actor.send(Booking.trigger("mail"))
      for (const [seconds, calls] of [
        [0, 1],
        [1, 2],
        [2, 3],
        [3, 4],
      ] as const) {
        yield* TestClock.adjust(`${seconds} seconds`)
        expect(world.calls.filter((call) => call.startsWith("mail"))).toHaveLength(calls)
      }
      expect((yield* actor.awaitFinal)._tag).toBe("mailed")
    }),
  )

  it.effect("are interrupted when the state is left", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* settle
      yield* actor.send(Booking.trigger("cancel"))
      yield* open
      yield* settle
      expect(yield* actor.awaitFinal).toEqual({ _tag: "cancelled", entity: ticket(), runs: 1 })
      const refused = yield* Effect.flip(actor.send(Booking.trigger("retry")))
      expect(refused).toBeInstanceOf(MachineStopped)
    }),
  )

  it.effect("do not lose an update that comes while they are at work", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* settle
      yield* actor.send(Booking.update({ amount: 7 }))
      yield* actor.send(Booking.update({ reason: "because" }))
      expect(yield* actor.state).toMatchObject({ _tag: "new", entity: { amount: 7, reason: "because" } })
      yield* open
      const booked = yield* actor.waitFor((state) => state._tag === "booked")
      expect(booked.entity).toEqual({ amount: 7, reason: "because", log: ["a", "book", "b"] })
      expect(world.calls).toHaveLength(1)
    }),
  )

  it.effect("whose draft does not meet the criteria leave the entity where it is, and the next transition is tried", () =>
    Effect.gen(function* () {
      const world = new World()
      const Choosing = EntityWorkflow.make(makeRegistry(world), {
        name: "choosing",
        states: ["new", "big", "called", "rest"],
        initial: "new",
        transitions: [
          { name: "to_big", from: "new", to: "big", processors: ["call"], criteria: ["big"], criteriaAfter: true },
          { name: "to_called", from: "new", to: "called", processors: ["call"], criteria: ["small"] },
          { name: "aside", from: "new", to: "rest", manual: true },
        ],
      })
      const small = yield* spawn(Choosing.machine, ticket(1))
      expect(yield* small.awaitFinal).toMatchObject({ _tag: "called", entity: { log: ["call"] } })
      expect(world.calls).toEqual(["call choosing/choosing/1/0/call 1", "call choosing/choosing/2/0/call 1"])
      const middle = yield* spawn(Choosing.machine, ticket(50))
      yield* settle
      expect(yield* middle.state).toMatchObject({ _tag: "new", entity: ticket(50), error: { transition: "to_big", criterion: "big" } })
      yield* middle.send(Choosing.update({ amount: 100 }))
      expect(yield* middle.awaitFinal).toMatchObject({ _tag: "big", entity: { amount: 100, log: ["call"] } })
    }),
  )

  it.effect("of a manual transition start from its patch, which is stored with the transition or not at all", () =>
    Effect.gen(function* () {
      const world = new World()
      world.failures.set("call", 1)
      const Calling = EntityWorkflow.make(makeRegistry(world), {
        name: "calling",
        states: ["new", "done"],
        initial: "new",
        transitions: [{ name: "go", from: "new", to: "done", manual: true, processors: ["call", "argue"] }],
      })
      const actor = yield* spawn(Calling.machine, ticket(1))
      const go = Calling.trigger("go", { patch: { amount: 2 }, argument: "why" })
      yield* actor.send(go)
      yield* settle
      expect(yield* actor.state).toMatchObject({ _tag: "new", entity: ticket(1), error: { message: "call is down" } })
      yield* actor.send(go)
      expect(yield* actor.awaitFinal).toMatchObject({ _tag: "done", entity: { amount: 2, log: ["call", '"why"'] } })
    }),
  )

  it.effect("of a failure transition get the error, and if they fail too both are recorded", () =>
    Effect.gen(function* () {
      const world = new World()
      const failing = (failures: number) => {
        world.failures.set("call", failures)
        return EntityWorkflow.make(makeRegistry(world), {
          name: "twice",
          states: ["new", "done", "failed"],
          initial: "new",
          failure: "fail",
          ends: ["done", "failed"],
          transitions: [
            { name: "go", from: "new", to: "done", processors: ["throwing"] },
            { name: "fail", from: "*", to: "failed", manual: true, processors: ["explain", "call"] },
          ],
        })
      }
      const told = yield* spawn(failing(0).machine, ticket())
      expect(yield* told.awaitFinal).toMatchObject({
        _tag: "failed",
        entity: { reason: "throwing: cannot", log: ["call"] },
        error: { transition: "go", processor: "throwing", message: "cannot" },
      })
      const both = yield* spawn(failing(1).machine, ticket())
      yield* settle
      const state = yield* both.state
      expect(state).toMatchObject({ _tag: "new", entity: ticket(), error: { transition: "go" } })
      expect(state.error?.message).toBe("cannot; then fail failed as well: call is down")
      expect(state.pending).toBeUndefined()
    }),
  )

  it.effect("that follow each other without end are stopped with an error", () =>
    Effect.gen(function* () {
      const world = new World()
      const Endless = EntityWorkflow.make(makeRegistry(world), {
        name: "endless",
        states: ["x", "y"],
        initial: "x",
        transitions: [
          { name: "forth", from: "x", to: "y", processors: ["call"], criteria: ["small"] },
          { name: "back", from: "y", to: "x", processors: ["call"], criteria: ["small"] },
        ],
      })
      const actor = yield* spawn(Endless.machine, ticket())
      const stopped = yield* actor.waitFor((state) => state.error !== undefined)
      expect(stopped.error?.message).toContain("1001 automatic transitions in a row")
      expect(world.calls).toHaveLength(1000)
    }),
  )

  it.effect("are not started again by a second request", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("mail")
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* actor.waitFor((state) => state._tag === "booked")
      yield* actor.send(Booking.trigger("mail"))
      const again = yield* Effect.flip(actor.send(Booking.trigger("mail")))
      expect(again).toMatchObject({ _tag: "TransitionRefused", reason: "mail is running already" })
      yield* open
      expect((yield* actor.awaitFinal).entity.log.filter((line) => line === "mail")).toHaveLength(1)
    }),
  )

  it.effect("that throw, are interrupted, or make no entity, have failed like any other", () =>
    Effect.gen(function* () {
      const registry = makeRegistry(new World())
      const Broken = EntityWorkflow.make(
        {
          ...registry,
          processors: {
            dying: { _tag: "Effect" as const, run: () => Effect.die(new Error("broken")), retry: { attempts: 1 } },
            stopped: { _tag: "Effect" as const, run: () => Effect.interrupt, retry: { attempts: 1 } },
            wrong: { _tag: "Effect" as const, run: () => Effect.succeed({ amount: "much" } as never), retry: { attempts: 1 } },
            trapped: { _tag: "Effect" as const, run: () => Effect.sync(trap), retry: { attempts: 1 } },
          },
        },
        {
          name: "broken",
          states: ["new", "done"],
          initial: "new",
          transitions: [
            { name: "die", from: "new", to: "done", manual: true, processors: ["dying"] },
            { name: "stop", from: "new", to: "done", manual: true, processors: ["stopped"] },
            { name: "err", from: "new", to: "done", manual: true, processors: ["wrong"] },
            { name: "trap", from: "new", to: "done", manual: true, processors: ["trapped"] },
          ],
        },
      )
      const actor = yield* spawn(Broken.machine, ticket())
      yield* actor.send(Broken.trigger("die"))
      yield* settle
      expect((yield* actor.state).error).toMatchObject({ transition: "die", message: "broken" })
      yield* actor.send(Broken.trigger("stop"))
      yield* settle
      expect((yield* actor.state).error).toMatchObject({ transition: "stop", processor: "stopped" })
      expect((yield* actor.state).pending).toBeUndefined()
      yield* actor.send(Broken.trigger("err"))
      yield* settle
      expect((yield* actor.state).error?.message).toContain("not a valid entity")
      yield* actor.send(Broken.trigger("trap"))
      yield* settle
      expect((yield* actor.state).error).toMatchObject({ transition: "trap", message: expect.stringContaining("it cannot be read") })
      expect((yield* actor.state).pending).toBeUndefined()
    }),
  )

  it.effect("continue undisturbed when a manual transition fails beside them, and start again when one that took their place is over", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const Beside = EntityWorkflow.make(makeRegistry(world), {
        name: "beside",
        states: ["new", "booked", "other"],
        initial: "new",
        transitions: [
          { name: "book", from: "new", to: "booked", processors: ["book"] },
          { name: "stumble", from: "new", to: "other", manual: true, processors: ["throwing"] },
          { name: "try_call", from: "new", to: "other", manual: true, processors: ["call"], criteria: ["never"], criteriaAfter: true },
        ],
      })
      const actor = yield* spawn(Beside.machine, ticket())
      yield* settle
      yield* actor.send(Beside.trigger("stumble"))
      expect(yield* actor.state).toMatchObject({ error: { transition: "stumble" }, pending: { transition: "book", run: 1 } })
      expect(world.calls).toHaveLength(1)
      yield* actor.send(Beside.trigger("try_call"))
      yield* settle
      expect(yield* actor.state).toMatchObject({ _tag: "new", pending: { transition: "book", run: 3 } })
      yield* open
      expect((yield* actor.awaitFinal).entity.log).toEqual(["book"])
      expect(world.calls.map((call) => call.split(" ")[0])).toEqual(["book", "call", "book"])
    }),
  )

  it.effect("are given up where a criterion throws at what they made", () =>
    Effect.gen(function* () {
      const registry = makeRegistry(new World())
      const criteria = {
        broken: (): boolean => {
          throw new Error("no answer")
        },
      }
      const Judged = EntityWorkflow.make(
        { ...registry, criteria },
        {
          name: "judged",
          states: ["new", "done"],
          initial: "new",
          transitions: [{ name: "go", from: "new", to: "done", processors: ["call"], criteria: ["broken"], criteriaAfter: true }],
        },
      )
      const actor = yield* spawn(Judged.machine, ticket())
      yield* settle
      const { _tag, error, pending, entity } = yield* actor.state
      expect({ _tag, entity, pending }).toEqual({ _tag: "new", entity: ticket(), pending: undefined })
      expect(error?.message).toContain("no answer")
      expect(error?.processor).toBeUndefined()
    }),
  )
})
