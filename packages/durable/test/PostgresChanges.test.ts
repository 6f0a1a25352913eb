import type { InstanceKey } from "@detent/store"
import { Journal } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import { freshKey } from "@detent/store/testing/samples"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { inject } from "vitest"
import { within } from "../../store/test/support/patience.ts"
import { Engine } from "../src/Engine.ts"
import { E, Job, S } from "../testing/engine/Machines.ts"

describe("changed instances on PostgreSQL", () => {
  it.live("140 other processes hear which instances were changed, this one does not, and many are any", () =>
    Effect.gen(function* () {
      const key = yield* freshKey
      const open = Effect.map(
        Layer.build(Layer.fresh(PostgresStore.layer({ url: inject("postgresUrl"), schema: "changes", maxConnections: 2 }))),
        (store) => Context.get(store, Journal),
      )
      const [one, other] = [yield* open, yield* open]
      const [listening, heard, any] = [
        yield* Deferred.make<void>(),
        yield* Deferred.make<ReadonlyArray<InstanceKey>>(),
        yield* Deferred.make<void>(),
      ]
      let own = 0
      one.changed?.listen((keys) => {
        if (keys.length > 0) own++
      })
      let isListening = false
      const stop = other.changed?.listen((keys) => {
        if (keys.length > 0) Deferred.doneUnsafe(heard, Effect.succeed(keys))
        else if (isListening) Deferred.doneUnsafe(any, Effect.void)
        else Deferred.doneUnsafe(listening, Effect.void)
      })
      yield* within("10 seconds")(Deferred.await(listening))
      isListening = true
      one.changed?.notify([key, { ...key, id: "é 'x'" }, key])
      assert.deepStrictEqual(yield* within("10 seconds")(Deferred.await(heard)), [key, { ...key, id: "é 'x'" }])
      one.changed?.notify(Array.from({ length: 500 }, (_, index) => ({ ...key, id: `${key.id}-${index}` })))
      yield* within("10 seconds")(Deferred.await(any))
      assert.strictEqual(own, 0)
      stop?.()
    }),
  )

  it.live("140 a commit that leaves a state stops its work on another node by a message alone", () =>
    Effect.gen(function* () {
      const { id } = yield* freshKey
      const [started, stopped] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const work = Effect.acquireUseRelease(
        Deferred.succeed(started, undefined),
        () => Effect.never,
        () => Deferred.succeed(stopped, undefined),
      )
      const store = () => Layer.fresh(PostgresStore.layer({ url: inject("postgresUrl"), schema: "changes", maxConnections: 2 }))
      const open = Effect.suspend(() =>
        Effect.map(Layer.build(Engine.layer({ followInterval: "1 hour" }).pipe(Layer.provide(store()))), (context) =>
          Context.get(context, Engine),
        ),
      )
      const [owner, other] = [yield* open, yield* open]
      const busy = Job.spawn(S.Busy, () => work)
      const followed = yield* owner.start(busy, id, S.Busy({ n: 0 }))
      yield* within("20 seconds")(Deferred.await(started))
      const [first, second] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const see = (state: typeof S.Type) => Deferred.succeed("n" in state && state.n === 1 ? second : first, undefined)
      yield* Effect.forkScoped(Stream.runForEach(followed.changes, see))
      yield* within("20 seconds")(Deferred.await(first))
      const job = yield* other.ensure(
        Job.spawn(S.Busy, () => Effect.never),
        id,
      )
      yield* job.send(E.Add({ by: 1 }))
      // Once this is seen, the owner is listening.
      yield* within("20 seconds")(Deferred.await(second))
      yield* job.send(E.Pause())
      yield* within("20 seconds")(Deferred.await(stopped))
    }),
  )
})
