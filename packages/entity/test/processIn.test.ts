/** Processors that run in the target of their transition. */
import { spawn } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { EntityWorkflow } from "../src/index.ts"
import { makeRegistry, ticket, World } from "./tickets.ts"

/** Lets everything that is ready happen. */
const settle = Effect.andThen(TestClock.adjust(0), Effect.yieldNow)

const definition = {
  name: "booking",
  states: ["new", "booking", "mailing", "mailed", "failed"],
  initial: "new",
  ends: ["mailed"],
  failure: "fail",
  transitions: [
    { name: "book", from: "new", to: "booking", processors: ["book"], processIn: "target" },
    { name: "booked", from: "booking", to: "mailing", processors: ["mail"], criteria: ["booked"], processIn: "target" },
    { name: "done", from: "mailing", to: "mailed" },
    { name: "fail", from: "*", to: "failed", manual: true },
    { name: "again", from: "failed", to: "booking", manual: true, processors: ["book"], processIn: "target" },
  ],
} as const

const make = (world: World) => EntityWorkflow.make(makeRegistry(world), definition)

describe("processors that run in the target", () => {
  it.effect("the entity is in the target while they run, and its automatic transitions wait for them", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const actor = yield* spawn(make(world).machine, ticket())
      yield* settle
      expect(yield* actor.state).toMatchObject({
        _tag: "booking",
        entity: ticket(),
        pending: { transition: "book", run: 1, arrived: true },
      })
      const openMail = world.gate("mail")
      yield* open
      yield* settle
      expect(yield* actor.state).toMatchObject({ _tag: "mailing", entity: { log: ["book"] }, pending: { transition: "booked", run: 2 } })
      yield* openMail
      expect(yield* actor.awaitFinal).toMatchObject({ _tag: "mailed", entity: { log: ["book", "mail"] } })
    }),
  )

  it.effect(
    "what fails in the target takes the failure transition from there, with the entity as it was; a manual one starts it anew",
    () =>
      Effect.gen(function* () {
        const world = new World()
        world.failures.set("book", 3)
        const Booking = make(world)
        const actor = yield* spawn(Booking.machine, ticket())
        yield* TestClock.adjust("20 seconds")
        const failed = yield* actor.waitFor((state) => state._tag === "failed")
        expect(failed).toMatchObject({ entity: ticket(), error: { transition: "book", processor: "book", attempts: 3 } })
        const open = world.gate("book")
        yield* actor.send(Booking.trigger("again"))
        yield* settle
        expect(yield* actor.state).toMatchObject({ _tag: "booking", pending: { transition: "again", arrived: true } })
        expect((yield* actor.state).error).toBeUndefined()
        yield* open
        expect(yield* actor.awaitFinal).toMatchObject({ _tag: "mailed", entity: { log: ["book", "mail"] } })
      }),
  )

  it.effect("another transition from the target ends them", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* settle
      yield* actor.send(Booking.trigger("fail"))
      expect(yield* actor.state).toMatchObject({ _tag: "failed", entity: ticket() })
      expect((yield* actor.state).pending).toBeUndefined()
      // What they waited for comes too late.
      yield* open
      yield* settle
      expect(yield* actor.state).toMatchObject({ _tag: "failed", entity: ticket() })
    }),
  )

  it.effect("an update while they run is not lost", () =>
    Effect.gen(function* () {
      const world = new World()
      const open = world.gate("book")
      const Booking = make(world)
      const actor = yield* spawn(Booking.machine, ticket())
      yield* settle
      yield* actor.send(Booking.update({ amount: 7 }))
      yield* open
      expect(yield* actor.awaitFinal).toMatchObject({ _tag: "mailed", entity: { amount: 7, log: ["book", "mail"] } })
    }),
  )

  it.effect("a run that an older definition began in the source is finished, and leads on", () =>
    Effect.gen(function* () {
      const world = new World()
      const stored = { _tag: "new", entity: ticket(), runs: 1, chain: 1, pending: { transition: "book", run: 1 } } as const
      const actor = yield* spawn(make(world).machine, stored as never)
      expect(yield* actor.awaitFinal).toMatchObject({ _tag: "mailed", entity: { log: ["book", "mail"] } })
      expect(world.calls.filter((call) => call.startsWith("book"))).toHaveLength(1)
    }),
  )

  it.effect("a definition that cannot be run so is refused where it is written", () =>
    Effect.gen(function* () {
      const transition = (more: object) => ({
        ...definition,
        transitions: [...definition.transitions.slice(1), { name: "book", from: "new", ...more }],
      })
      const problem = (more: object) =>
        Effect.map(
          Effect.flip(EntityWorkflow.fromJson(JSON.stringify(transition(more)), makeRegistry(new World()))),
          (error) => error.message,
        )
      expect(yield* problem({ to: "mailed", processors: ["book"], processIn: "target" })).toContain("which is an end, where nothing runs")
      expect(
        yield* problem({ to: "booking", processors: ["book"], processIn: "target", criteria: ["booked"], criteriaAfter: true }),
      ).toContain("is in its target before its processors are done")
    }),
  )
})
