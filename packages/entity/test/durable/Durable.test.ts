/** Entity workflows on the durable engine, in a SQLite file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { traceOfHistory } from "@detent/machine"
import { Mermaid } from "@detent/machine/diagram"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { EntityWorkflow, Processor, Registry } from "../../src/index.ts"
import { logged, makeRegistry, Ticket, ticket, World } from "../tickets.ts"

const freshFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "detent-entity-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true })),
)

/** Runs in an engine of its own on the file, as another process would. */
const inProcess =
  (folder: string) =>
  <A, E>(use: Effect.Effect<A, E, Engine>) =>
    use.pipe(Effect.provide(Layer.fresh(Engine.layer().pipe(Layer.provide(SqliteStore.layer({ filename: join(folder, "store.db") }))))))

const quiet = Effect.gen(function* () {
  for (let turns = 0; turns < 20; turns++) {
    yield* TestClock.adjust(0)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
})

const items = {
  name: "item",
  states: ["ingested", "validated", "stored", "failed"],
  initial: "ingested",
  failure: "fail",
  ends: ["stored"],
  transitions: [
    { name: "validate", from: "ingested", to: "validated", processors: ["a"], criteria: ["small"] },
    { name: "store", from: "validated", to: "stored", processors: ["b", "stamp"] },
    { name: "fail", from: "*", to: "failed", manual: true },
    { name: "retry", from: "failed", to: "ingested", manual: true },
  ],
} as const

describe("on the durable engine", () => {
  it.effect("a chain of pure processors is stored with the insert: one commit, no event", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const Item = EntityWorkflow.make(makeRegistry(new World()), items)
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const item = yield* engine.start(Item.machine, "i-1", ticket(3))
          expect(yield* item.lastSequence).toBe(0)
          expect(yield* item.state).toEqual({ _tag: "stored", entity: { amount: 3, log: ["a", "b", "at 0"] } })
          const waiting = yield* engine.start(Item.machine, "i-2", ticket(30))
          yield* waiting.send(Item.update({ amount: 4 }))
          expect(yield* waiting.lastSequence).toBe(1)
          expect(yield* engine.count(Item.machine)).toEqual(new Map([["stored", 2]]))
        }),
      )
    }),
  )

  it.effect("a file can be added to a running system, and its instances resume in the next process", () =>
    Effect.gen(function* () {
      const folder = yield* freshFolder
      const run = inProcess(folder)
      const world = new World()
      const registry = makeRegistry(world)
      const file = join(folder, "refund.json")
      const load = Effect.suspend(() => EntityWorkflow.fromJson(readFileSync(file, "utf8"), registry, { file }))
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const Item = EntityWorkflow.make(registry, items)
          yield* engine.start(Item.machine, "i-1", ticket())
          // A file is written while the system runs.
          writeFileSync(
            file,
            `{ "name": "refund", "initial": "asked", "states": ["asked", "granted", "paid"], "transitions": [
                { "name": "grant_small", "from": "asked", "to": "granted", "criteria": ["small"] },
                { "name": "grant", "from": "asked", "to": "granted", "manual": true, "processors": ["argue"] },
                { "name": "pay", "from": "granted", "to": "paid", "processors": ["book"], "criteria": ["booked"], "criteriaAfter": true } ] }`,
          )
          const Refund = yield* load
          yield* engine.register(Refund.machine)
          const refund = yield* engine.start(Refund.machine, "r-1", ticket(500))
          expect((yield* refund.state)._tag).toBe("asked")
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const Refund = yield* load
          const refund = yield* engine.ensure(Refund.machine, "r-1", ticket())
          yield* refund.send(Refund.trigger("grant", { argument: "by ada" }), { id: "click-1" })
          yield* refund.send(Refund.trigger("grant", { argument: "by ada" }), { id: "click-1" })
          expect(yield* refund.awaitFinal).toMatchObject({ _tag: "paid", entity: { amount: 500, log: ['"by ada"', "book"] } })
          expect(world.calls).toEqual(["book refund/r-1/1/0/book 1"])
          const history = yield* Stream.runCollect(refund.history)
          expect(history.map(({ event, from, state }) => ["label" in event ? event.label : event._tag, from._tag, state._tag])).toEqual([
            ["grant", "asked", "granted"],
            ["pay", "granted", "paid"],
          ])
          const known = { id: "r-1", state: yield* refund.state, startedAt: 0, status: "done" } as const
          const drawn = Mermaid.sequence(traceOfHistory(Refund.machine, known, history))
          expect(drawn).toContain("m-->>m: pay")
          expect(drawn).not.toMatch(/processed|◷/)
        }),
      )
    }),
  )

  it.effect("attempts at a processor count across processes", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const world = new World()
      world.failures.set("book", 100)
      const Booking = EntityWorkflow.make(makeRegistry(world), {
        name: "booking",
        states: ["new", "booked", "failed"],
        initial: "new",
        failure: "fail",
        ends: ["booked", "failed"],
        transitions: [
          { name: "book", from: "new", to: "booked", processors: ["book"] },
          { name: "fail", from: "*", to: "failed", manual: true, processors: ["explain"] },
        ],
      })
      yield* run(
        Effect.gen(function* () {
          const booking = yield* (yield* Engine).start(Booking.machine, "b-1", ticket())
          yield* quiet
          expect(yield* booking.state).toMatchObject({ _tag: "new", error: { attempts: 1 }, pending: { transition: "book" } })
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          yield* engine.register(Booking.machine)
          yield* quiet
          yield* TestClock.adjust("10 seconds")
          yield* quiet
          const booking = yield* engine.ensure(Booking.machine, "b-1", ticket())
          expect(yield* booking.state).toMatchObject({ _tag: "failed", entity: { reason: "book: book is down" }, error: { attempts: 3 } })
          expect(world.calls).toEqual([1, 2, 3].map((attempt) => `book booking/b-1/1/0/book ${attempt}`))
        }),
      )
    }),
  )

  it.effect("what was stored is read again, not made again, when processors and criteria have changed since", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const make = (line: string, limit: number) =>
        EntityWorkflow.make(
          Registry.make(Ticket, {
            processors: { write: Processor.pure((entity) => logged(entity, line)) },
            criteria: { allowed: ({ amount }) => amount < limit },
          }),
          {
            name: "changing",
            states: ["new", "open", "closed"],
            initial: "new",
            transitions: [
              { name: "open", from: "new", to: "open", manual: true, processors: ["write"], criteria: ["allowed"] },
              { name: "close", from: "open", to: "closed", manual: true, processors: ["write"] },
            ],
          },
        )
      yield* run(
        Effect.gen(function* () {
          const Before = make("before", 100)
          const instance = yield* (yield* Engine).start(Before.machine, "c-1", ticket(50))
          yield* instance.send(Before.trigger("open"))
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const After = make("after", 10)
          const instance = yield* (yield* Engine).ensure(After.machine, "c-1", ticket())
          expect(yield* instance.state).toMatchObject({ _tag: "open", entity: { log: ["before"] } })
          yield* instance.send(After.trigger("close"))
          expect(yield* instance.state).toMatchObject({ _tag: "closed", entity: { log: ["before", "after"] } })
        }),
      )
    }),
  )

  it.effect("a transition that a new file no longer has is given up for those it has", () =>
    Effect.gen(function* () {
      const run = inProcess(yield* freshFolder)
      const world = new World()
      // The first run waits at the gate for ever.
      void world.gate("book")
      const make = (name: "book" | "call") =>
        EntityWorkflow.fromJson(
          `{ "name": "moving", "initial": "new", "states": ["new", "done"], "transitions": [
              { "name": "by_${name}", "from": "new", "to": "done", "processors": ["${name}"] } ] }`,
          makeRegistry(world),
        )
      yield* run(
        Effect.gen(function* () {
          const instance = yield* (yield* Engine).start((yield* make("book")).machine, "m-1", ticket())
          yield* quiet
          expect(yield* instance.state).toMatchObject({ _tag: "new", pending: { transition: "by_book" } })
        }),
      )
      yield* run(
        Effect.gen(function* () {
          const engine = yield* Engine
          const { machine } = yield* make("call")
          yield* engine.register(machine)
          const instance = yield* engine.ensure(machine, "m-1", ticket())
          expect(yield* instance.awaitFinal).toMatchObject({ _tag: "done", entity: { log: ["call"] } })
          expect(yield* instance.stateAt(1)).toMatchObject({ _tag: "new", pending: { transition: "by_call" } })
          expect(world.calls).toEqual(["book moving/m-1/1/0/book 1", "call moving/m-1/2/0/call 1"])
        }),
      )
    }),
  )
})
