/** An instance that waits after a failure of the store continues, whatever the clock says when its wait is over. */
import { Event, Machine, PersistenceFailed, State } from "@detent/machine"
import { Journal, MemoryStore } from "@detent/store"
import { expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Engine } from "../../src/Engine.ts"

const S = State({ Idle: {}, Waiting: {}, Done: {} })
const E = Event({ Go: {}, Add: {} })
const machine = Machine.make({ name: "owing", state: S, event: E, initial: S.Idle() })
  .on(S.Idle, E.Go, S.Waiting, ({ self }) => {
    self.send(E.Add())
    return S.Waiting()
  })
  // The event that it sends to itself is stored by a commit of its own.
  .enter(S.Waiting, () => Effect.sleep(10))
  .on(S.Waiting, E.Add, S.Done)
  .final(S.Done)

/** Timers of Node may fire up to a millisecond early by the clock. These always do. */
const early = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
  currentTimeNanos: clock.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(Duration.millis(Math.max(0, Duration.toMillis(duration) - 3))),
})

it.live("an instance continues after a pause that ends before its time by the clock", () =>
  Effect.gen(function* () {
    const store = yield* Layer.build(MemoryStore.layer)
    const journal = Context.get(store, Journal)
    let isFull = true
    const { local: _, ...remote } = journal as typeof journal & { readonly local?: unknown }
    const withOutage = Context.add(store, Journal, {
      ...remote,
      commit: (commits) =>
        Effect.suspend(() =>
          isFull && commits.some(({ events }) => events.some(({ tag }) => tag === "Add"))
            ? Effect.fail(new PersistenceFailed({ machine: "owing", operation: "commit", cause: new Error("disk full") }))
            : journal.commit(commits),
        ),
    })
    const clock = early(yield* Clock.Clock)
    const layer = Engine.layer({ storeTimeout: "50 millis" }).pipe(Layer.provide(Layer.succeedContext(withOutage)))
    const engine = Context.get(yield* Effect.provideService(Layer.build(layer), Clock.Clock, clock), Engine)
    const instance = yield* Effect.provideService(engine.start(machine, "one"), Clock.Clock, clock)
    yield* instance.send(E.Go())
    yield* Effect.sleep(300)
    isFull = false
    yield* instance.awaitFinal
    expect((yield* instance.state)._tag).toBe("Done")
  }).pipe(Effect.scoped),
)
