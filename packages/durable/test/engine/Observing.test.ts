import { Event, Machine, State } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Engine } from "../../src/Engine.ts"

const S = State({ Open: { count: Schema.Int }, Closed: {} })
const E = Event({ Add: { by: Schema.Int }, Close: {} })

const counting = (work: Effect.Effect<void>) =>
  Machine.make({ name: "counter", state: S, event: E, initial: S.Open({ count: 0 }) })
    .on(S.Open, E.Add, S.Open, ({ state, event }) => S.Open({ count: state.count + event.by }))
    .on(S.Open, E.Close, S.Closed)
    .spawn(S.Open, () => Effect.andThen(work, Effect.never))
    .final(S.Closed)

/** Two engines on one store, the second of which only observes. */
const engines = Effect.gen(function* () {
  const store = yield* Layer.build(MemoryStore.layer)
  const engine = (observe: boolean) =>
    Effect.map(Layer.build(Layer.fresh(Engine.layer({ observe })).pipe(Layer.provide(Layer.succeedContext(store)))), Context.get(Engine))
  return { working: yield* engine(false), observing: yield* engine(true) }
})

describe("an engine that only observes", () => {
  it.effect("shows where instances stand, resumes none of them, and refuses what is sent", () =>
    Effect.gen(function* () {
      const { working, observing } = yield* engines
      let worked = 0
      const machine = counting(
        Effect.sync(() => {
          worked++
        }),
      )
      const counter = yield* working.start(machine, "one")
      while (worked === 0) yield* Effect.yieldNow
      assert.strictEqual(worked, 1)
      yield* observing.register(machine)
      const seen = Option.getOrThrow(observing.find({ machine: "counter", id: "one" }))
      for (const by of [2, 3]) {
        yield* counter.send(E.Add({ by }))
        assert.deepStrictEqual<unknown>(yield* seen.state, yield* counter.state)
        assert.strictEqual((yield* seen.stored).sequence, (yield* counter.snapshot).sequence)
      }
      const refused = yield* Effect.flip(seen.send(E.Close()))
      assert.include(refused.message, "only observes")
      const notStarted = yield* Effect.flip(observing.start(machine, "two"))
      assert.include(notStarted.message, "only observes")
      assert.deepStrictEqual([yield* observing.live, worked], [0, 1])
      assert.deepStrictEqual(yield* observing.sweep, { fired: 0, stale: 0, failed: 0, dead: 0 })
    }),
  )
})

/** The counter of a release before: its state has a text. */
const oldS = State({ Open: { count: Schema.String }, Closed: {} })
const oldCounter = Machine.make({ name: "counter", state: oldS, event: E, initial: oldS.Open({ count: "none" }) })
  .on(oldS.Open, E.Close, oldS.Closed)
  .final(oldS.Closed)

describe("an engine that only observes an instance that does not fit its definition", () => {
  it.effect("reports it, and neither holds nor releases it", () =>
    Effect.gen(function* () {
      const { working, observing } = yield* engines
      yield* working.start(oldCounter, "one")
      yield* observing.register(counting(Effect.void))
      const seen = Option.getOrThrow(observing.find({ machine: "counter", id: "one" }))
      for (const read of [Effect.asVoid(seen.state), Effect.asVoid(seen.stored)])
        assert.strictEqual((yield* Effect.flip(read))._tag, "EventReplayError")
      const status = Effect.map(working.list(oldCounter), ({ instances: [first] }) => first?.status)
      assert.strictEqual(yield* status, "running")
    }),
  )
})

describe("an engine", () => {
  it.effect("knows its machines and their instances by name", () =>
    Effect.gen(function* () {
      const { working } = yield* engines
      const machine = counting(Effect.void)
      assert.deepStrictEqual(yield* working.machines, [])
      yield* working.start(machine, "one")
      assert.deepStrictEqual(
        (yield* working.machines).map(({ name }) => name),
        ["counter"],
      )
      assert.strictEqual(Option.getOrThrow(working.machine("counter")).name, "counter")
      assert.isTrue(Option.isNone(working.find({ machine: "clock", id: "one" })))
      const unknown = Option.getOrThrow(working.find({ machine: "counter", id: "two" }))
      assert.strictEqual((yield* Effect.flip(unknown.state))._tag, "InstanceNotFound")
    }),
  )
})
