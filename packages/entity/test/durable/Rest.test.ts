/** Entities that wait for a manual transition are in the database, not in memory; those whose processors are at work are brought back. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import { EntityWorkflow } from "../../src/index.ts"
import { makeRegistry, ticket, World } from "../tickets.ts"

const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-rest-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

const inProcess =
  (folder: string) =>
  <A, E>(use: Effect.Effect<A, E, Engine>) =>
    use.pipe(
      Effect.provide(
        Layer.fresh(
          Engine.layer({ passivateAfter: "1 minute" }).pipe(Layer.provide(SqliteStore.layer({ filename: join(folder, "store.db") }))),
        ),
      ),
    )

const quiet = Effect.gen(function* () {
  for (let turns = 0; turns < 20; turns++) {
    yield* TestClock.adjust(0)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
})

const idleForLong = Effect.gen(function* () {
  for (let minutes = 0; minutes < 3; minutes++) {
    yield* TestClock.adjust("1 minute")
    yield* quiet
  }
})

/** Both of its states have a transition whose processor has effects, and rest until it is requested. */
const makeOrders = (world: World) =>
  EntityWorkflow.make(makeRegistry(world), {
    name: "order",
    states: ["waiting", "booked", "closed"],
    initial: "waiting",
    transitions: [
      { name: "book", from: "waiting", to: "booked", manual: true, processors: ["book"] },
      { name: "call_big", from: "waiting", to: "booked", processors: ["call"], criteria: ["big"] },
      { name: "close", from: "booked", to: "closed", manual: true, processors: ["mail"] },
    ],
  })

describe("entities at rest", () => {
  it.effect("many that wait are stored at once, none enters memory, and a restart brings none of them back", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const world = new World()
      const Order = makeOrders(world)
      const orders = Array.from({ length: 50 }, (_, index) => ({ id: `o-${index}`, input: ticket(50) }))
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const started = yield* engine.startAll(Order.machine, orders)
          expect(started.every(Result.isSuccess)).toBe(true)
          expect(yield* engine.live).toBe(0)
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          yield* engine.register(Order.machine)
          yield* quiet
          expect(yield* engine.live).toBe(0)
          const order = yield* engine.ensure(Order.machine, "o-7", ticket())
          yield* order.send(Order.trigger("book"))
          yield* order.waitFor((state) => state._tag === "booked")
          expect(world.calls).toEqual(["book order/o-7/1/0/book 1"])
        }),
      )
    }),
  )

  it.effect("one whose processors are done, or have failed for good, leaves memory and can be asked again", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const world = new World()
      const Order = makeOrders(world)
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const done = yield* engine.start(Order.machine, "done", ticket())
          yield* done.send(Order.trigger("book"))
          yield* done.waitFor((state) => state._tag === "booked")
          world.failures.set("book", 3)
          const given = yield* engine.start(Order.machine, "given-up", ticket())
          yield* given.send(Order.trigger("book"))
          yield* quiet
          expect(yield* given.state).toMatchObject({ pending: { transition: "book" }, error: { attempts: 1 } })
          for (let attempts = 0; attempts < 2; attempts++) {
            yield* TestClock.adjust("10 seconds")
            yield* quiet
          }
          expect(yield* given.state).toMatchObject({ _tag: "waiting", error: { attempts: 3 } })
          expect((yield* given.state).pending).toBeUndefined()
          yield* idleForLong
          expect(yield* engine.live).toBe(0)
          yield* given.send(Order.trigger("book"))
          yield* given.waitFor((state) => state._tag === "booked")
          expect(yield* given.state).toMatchObject({ entity: { log: ["book"] }, runs: 2 })
        }),
      )
    }),
  )

  it.effect("one whose processors are at work stays, however long that takes, and resumes in the next process", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const world = new World()
      const Order = makeOrders(world)
      const open = world.gate("call")
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const order = yield* engine.start(Order.machine, "o-1", ticket(50))
          yield* idleForLong
          expect(yield* engine.live).toBe(0)
          // What holds now starts a processor by itself, in the state it rested in.
          yield* order.send(Order.update({ amount: 500 }))
          yield* idleForLong
          expect(yield* engine.live).toBe(1)
          expect(world.calls).toEqual(["call order/o-1/1/0/call 1"])
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          yield* engine.register(Order.machine)
          yield* quiet
          expect(yield* engine.live).toBe(1)
          yield* open
          const order = yield* engine.ensure(Order.machine, "o-1", ticket())
          yield* order.waitFor((state) => state._tag === "booked")
          expect(yield* order.state).toMatchObject({ entity: { amount: 500, log: ["call"] } })
          expect(world.calls).toHaveLength(2)
        }),
      )
    }),
  )
})
