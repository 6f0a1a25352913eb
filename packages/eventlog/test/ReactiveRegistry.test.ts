import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Entry, EventJournalError, makeEntryIdUnsafe } from "effect/eventlog/EventJournal"
import { Registry } from "effect/eventlog/EventLog"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Stream from "effect/Stream"
import { within } from "../../store/test/support/patience.ts"
import { EventFeed } from "../src/journal/EventFeed.ts"
import { layerReactiveRegistry } from "../src/log/ReactiveRegistry.ts"

const away = new EventJournalError({ method: "position", cause: new Error("the database is away") })

/** A feed with one event, whose position can be read once `ready` succeeds. */
const feedOf = (ready: Effect.Effect<void, EventJournalError>) => {
  const entry = new Entry({ id: makeEntryIdUnsafe(), event: "Opened", primaryKey: "a", payload: new Uint8Array() })
  const streams = { opened: 0 }
  const feed: EventFeed["Service"] = {
    journal: "carts",
    position: Effect.as(ready, 0),
    read: () => Effect.succeed([]),
    stream: () => {
      streams.opened++
      return Stream.concat(Stream.make({ position: 1, entry, origin: undefined }), Stream.never)
    },
  }
  const layer = Layer.provideMerge(Layer.merge(layerReactiveRegistry, Reactivity.layer), Layer.succeed(EventFeed, feed))
  return { layer, streams }
}

/** Registers the key of a group, and waits until the event of the feed invalidates it. */
const invalidated = Effect.gen(function* () {
  const reactivity = yield* Reactivity.Reactivity
  const done = yield* Deferred.make<void>()
  reactivity.registerUnsafe({ carts: ["a"] }, () => Deferred.doneUnsafe(done, Effect.void))
  yield* register
  yield* within("2 seconds")(Deferred.await(done))
})

const register = Effect.flatMap(Registry, (registry) => registry.registerReactivity({ Opened: ["carts"] }))

describe("reactivity keys of a journal", () => {
  it.live("are followed by a registration after one that failed", () => {
    let reads = 0
    const { layer, streams } = feedOf(Effect.suspend(() => (reads++ === 0 ? Effect.fail(away) : Effect.void)))
    return Effect.gen(function* () {
      assert.isTrue(Exit.isFailure(yield* Effect.exit(register)))
      yield* invalidated
      yield* register
      assert.strictEqual(streams.opened, 1)
    }).pipe(Effect.provide(layer))
  })

  it.live("are followed by a registration that came while another failed", () =>
    Effect.gen(function* () {
      let reads = 0
      const [begun, mayFail] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const failing = Effect.andThen(Deferred.succeed(begun, undefined), Effect.andThen(Deferred.await(mayFail), Effect.fail(away)))
      const { layer } = feedOf(Effect.suspend(() => (reads++ === 0 ? failing : Effect.void)))
      yield* Effect.gen(function* () {
        const first = yield* Effect.forkChild(register)
        yield* Deferred.await(begun)
        const second = yield* Effect.forkChild(invalidated)
        yield* Effect.yieldNow
        yield* Deferred.succeed(mayFail, undefined)
        assert.isTrue(Exit.isFailure(yield* Fiber.await(first)))
        yield* Fiber.join(second)
      }).pipe(Effect.provide(layer))
    }),
  )
})
