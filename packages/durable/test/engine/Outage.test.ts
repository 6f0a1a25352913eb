/** A PostgreSQL that is stopped: callers wait for it until the store timeout, whether their instance is in memory or not. */
import { PersistenceFailed } from "@detent/machine"
import * as PostgresStore from "@detent/store/PostgresStore"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type RestartableServer, startRestartable } from "../../../store/test/support/RestartableServer.ts"
import { Engine, type EngineOptions, type EngineService } from "../../src/Engine.ts"
import { E, Job, S } from "../../testing/engine/Machines.ts"

/** One call of each kind, of instances that are not in memory and of one that is. */
const calls = (engine: EngineService, run: string): Effect.Effect<Record<string, Effect.Effect<unknown, unknown>>, unknown> =>
  Effect.gen(function* () {
    const inMemory = yield* engine.start(Job, `${run}-memory`, S.Busy({ n: 0 }))
    const outside = yield* engine.start(Job, `${run}-outside`, S.Busy({ n: 0 }))
    const other = yield* engine.start(Job, `${run}-other`, S.Busy({ n: 0 }))
    yield* engine.release(Job, [outside.id, other.id])
    return {
      "a send to an instance in memory": inMemory.send(E.Add({ by: 1 })),
      "a send to one that is not": outside.send(E.Add({ by: 1 })),
      "a call of one that is not": other.call(E.Add({ by: 1 })),
      start: engine.start(Job, `${run}-started`, S.Busy({ n: 0 })),
      "ensure of a new id": engine.ensure(Job, `${run}-ensured`, S.Busy({ n: 0 })),
      "ensure of a stored one": engine.ensure(Job, other.id),
      get: engine.get(Job, outside.id),
      restore: engine.restore(outside.id, Job),
    }
  })

interface Ended {
  readonly exit: Exit.Exit<unknown, unknown>
  readonly afterMillis: number
}

/** Starts all calls at once. */
const begin = (calls: Record<string, Effect.Effect<unknown, unknown>>) => {
  const began = performance.now()
  const ended = (exit: Exit.Exit<unknown, unknown>): Ended => ({ exit, afterMillis: performance.now() - began })
  return Effect.forEach(Object.entries(calls), ([name, call]) =>
    Effect.map(Effect.forkChild(Effect.map(Effect.exit(call), ended), { startImmediately: true }), (fiber) => [name, fiber] as const),
  )
}

describe("a PostgreSQL that is stopped and started again", () => {
  let server: RestartableServer
  beforeAll(async () => {
    server = await startRestartable()
  })
  afterAll(() => server.remove())

  const engineWith = (storeTimeout: Duration.Input, options: EngineOptions = {}) =>
    Engine.layer({ ...options, storeTimeout }).pipe(Layer.provide(Layer.suspend(() => PostgresStore.layer({ url: server.url }))))

  it.live("every call of an engine waits while it is away, and succeeds when it is back", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const made = yield* calls(engine, "back")
      yield* Effect.promise(() => server.stop())
      const waiting = yield* begin(made)
      yield* Effect.sleep("1 second")
      const ended = waiting.filter(([, fiber]) => fiber.pollUnsafe() !== undefined).map(([name]) => name)
      yield* Effect.promise(() => server.start())
      expect(ended).toEqual([])
      for (const [name, fiber] of waiting) expect([name, (yield* Fiber.join(fiber)).exit._tag]).toEqual([name, "Success"])
      expect((yield* engine.ensure(Job, "back-outside")).id).toBe("back-outside")
    }).pipe(Effect.provide(engineWith("1 minute"))),
  )

  it.live("every call of an engine fails with the error of the store once it was away for the store timeout", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const made = yield* calls(engine, "away")
      yield* Effect.promise(() => server.stop())
      const waiting = yield* begin(made)
      const tooEarly: Array<string> = []
      for (const [name, fiber] of waiting) {
        const { exit, afterMillis } = yield* Fiber.join(fiber)
        expect([name, yield* Effect.flip(exit)]).toEqual([name, expect.any(PersistenceFailed)])
        if (afterMillis < 900) tooEarly.push(name)
      }
      expect(tooEarly).toEqual([])
      yield* Effect.promise(() => server.start())
    }).pipe(Effect.provide(engineWith("1 second"))),
  )

  it.live("every call of an engine that stops while it is away fails typed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const stoppingSoon: EngineOptions = { drainTimeout: "1 second", worker: { drainTimeout: "1 second" }, lease: "2 seconds" }
      const engine = Context.get(yield* Layer.buildWithScope(engineWith("1 minute", stoppingSoon), scope), Engine)
      const made = yield* calls(engine, "stopping")
      yield* Effect.promise(() => server.stop())
      const waiting = yield* begin(made)
      yield* Effect.sleep("300 millis")
      yield* Scope.close(scope, Exit.void)
      const late = yield* begin(made)
      for (const [name, fiber] of [...waiting, ...late]) {
        const { exit } = yield* Fiber.join(fiber)
        expect([name, Exit.isFailure(exit) && exit.cause.reasons.map(({ _tag }) => _tag)]).toEqual([name, ["Fail"]])
      }
      yield* Effect.promise(() => server.start())
    }),
  )
})
