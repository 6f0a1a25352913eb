/** States deep in a journal. */
import { Event, Machine, State } from "@detent/machine"
import { MemoryStore } from "@detent/store"
import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { turnsDuring } from "../../../store/test/support/turns.ts"
import { makeKit } from "../../testing/engine/Rig.ts"

const S = State({ Counting: { count: Schema.Int } })
const E = Event({ Add: {} })
const machine = Machine.make({ name: "long", state: S, event: E, initial: S.Counting({ count: 0 }) }).on(
  S.Counting,
  E.Add,
  S.Counting,
  ({ state }) => S.Counting({ count: state.count + 1 }),
)

const inMemory = makeKit("reading the past", MemoryStore.layer, {})
const onSqlite = makeKit("reading the past on SQLite", sqliteLayer, {})
const { test } = inMemory

for (const kit of [inMemory, onSqlite])
  kit.test(`a page and a state in the middle of a long journal leave the event loop turns, ${kit.name}`, ({ open }) =>
    Effect.gen(function* () {
      const { engine } = yield* open()
      const total = 40_000
      const writer = yield* engine.start(machine, "x")
      yield* Effect.forEach(Array.from({ length: total }), () => writer.send(E.Add()), { concurrency: 1000, discard: true })
      for (const read of [
        (instance: typeof writer) => Effect.map(instance.historyPage({ after: 20_000, limit: 1 }), ([entry]) => entry?.state),
        (instance: typeof writer) => instance.stateAt(20_001),
        (instance: typeof writer) =>
          Effect.map(
            instance.historyPage({ after: 20_000, limit: 10_000 }),
            (page) => page.find(({ sequence }) => sequence === 20_001)?.state,
          ),
      ]) {
        // Another engine remembers no states of the journal.
        const reader = yield* (yield* open()).engine.ensure(machine, "x")
        const { value, turns } = yield* turnsDuring(read(reader))
        expect(value).toEqual(S.Counting({ count: 20_001 }))
        expect(turns).toBeGreaterThanOrEqual(9)
      }
    }),
  )

test("readers of states and pages deep in a journal share one replay, and what is near is read again only", ({ open }) =>
  Effect.gen(function* () {
    const { engine, probe } = yield* open()
    const instance = yield* engine.start(machine, "x")
    const total = 7000
    yield* Effect.forEach(Array.from({ length: total }), () => instance.send(E.Add()), { concurrency: 500, discard: true })
    let read = 0
    probe.onEvents = (events) =>
      Effect.tap(events, (page) =>
        Effect.sync(() => {
          if (Array.isArray(page)) read += page.length
        }),
      )
    const [before, page, other] = yield* Effect.all(
      [instance.stateAt(total - 1), instance.historyPage({ after: total - 2, limit: 1 }), instance.stateAt(total - 500)],
      { concurrency: "unbounded" },
    )
    expect(before).toEqual(S.Counting({ count: total - 1 }))
    expect(page.map(({ sequence, state }) => [sequence, state])).toEqual([[total - 1, S.Counting({ count: total - 1 })]])
    expect(other).toEqual(S.Counting({ count: total - 500 }))
    // The way of 6,000 once, and from there at most 1,000 for each of the three.
    expect(read).toBeLessThanOrEqual(9000)
    read = 0
    expect(yield* instance.stateAt(total - 3)).toEqual(S.Counting({ count: total - 3 }))
    expect(read).toBeLessThanOrEqual(1000)
  }))
