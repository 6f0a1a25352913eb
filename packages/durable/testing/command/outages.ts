/** Workers on a store that throws, fails, or undoes what conflicts with others. */
import { PersistenceFailed } from "@detent/machine"
import { Commands, LoopHealth } from "@detent/store"
import { countsOf, eventually, freshName, stored, type Topic, withOwnMetrics } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { DeadlockError, SqlError } from "effect/sql/SqlError"
import { commandStoreFailures } from "../../src/outbox/CommandMetrics.ts"
import * as CommandWorker from "../../src/outbox/CommandWorker.ts"
import { E, openEngine, purchase } from "./Requesting.ts"
import { brisk, jobs, onStore, startWorker } from "./Working.ts"

/** Collects warnings of workers, and the loops that are down. */
const observed = () => {
  const warnings: Array<string> = []
  const health = LoopHealth.make()
  const logger = Logger.make<unknown, void>(({ message, logLevel }) => {
    if (logLevel === "Warn") warnings.push(String(Array.isArray(message) ? message[0] : message))
  })
  const observe = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(Effect.provideService(LoopHealth, health), Effect.provide(Logger.layer([logger]))) as Effect.Effect<A, E, R>
  const down = Effect.sync(() => health.outages().map(({ name }) => name))
  return { warnings, observe, down }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ payload: { name: `${index}` } }))

const deadlock = new PersistenceFailed({
  machine: "store",
  operation: "exchange commands",
  cause: new Error("deadlock detected", { cause: new SqlError({ reason: new DeadlockError({ cause: new Error("40P01") }) }) }),
})

export const outages: Topic = (it) => {
  it.effect("147 a store that throws does not end the worker: it logs one warning, is listed as down, and continues", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const { warnings, observe, down } = observed()
      const runs = new Map<string, number>()
      let isBroken = false
      yield* onStore(
        ({ exchange }) => ({
          exchange: (request) => (isBroken ? Effect.die(new Error("the driver is broken")) : exchange(request)),
        }),
        observe(startWorker(queue, (job) => Effect.sync(() => runs.set(job, (runs.get(job) ?? 0) + 1)), { claimDuration: "1 minute" })),
      )
      for (const round of [1, 2]) {
        yield* queue.enqueueAll(numbered(10))
        yield* eventually(countsOf(name), ({ completed }) => completed === round * 20 - 10)
        isBroken = true
        yield* queue.enqueueAll(numbered(10))
        const [loop] = yield* eventually(down, ({ length }) => length > 0)
        assert.match(String(loop), /^command worker /)
        yield* Effect.sleep(700)
        assert.strictEqual(warnings.length, round, `one warning per outage: ${warnings.join("; ")}`)
        assert.match(String(warnings.at(-1)), /^command worker .* failed and is tried again until it succeeds: the driver is broken\n +at /)
        isBroken = false
        yield* eventually(countsOf(name), ({ completed }) => completed === round * 20)
        yield* eventually(down, ({ length }) => length === 0)
      }
      assert.deepStrictEqual([...runs.values()], Array(10).fill(4))
    }),
  )

  it.effect("147 the worker of an engine is listed as down by the store that it works on", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const health = yield* Effect.map(Effect.serviceOption(LoopHealth), Option.getOrThrow)
      const listed = Effect.sync(() => health.outages().some((outage) => outage.name.startsWith(`command worker ${name}`)))
      let isBroken = true
      const { engine } = yield* onStore(
        ({ exchange }) => ({
          exchange: (request) => (isBroken ? Effect.die(new Error("the driver is broken")) : exchange(request)),
        }),
        openEngine({ nodeId: name }),
      )
      const Purchase = purchase(name).build({ charge: () => Effect.succeed("receipt"), mail: () => Effect.void })
      const order = yield* engine.start(Purchase, "o-1", { total: 42 })
      yield* order.send(E.Pay())
      yield* eventually(listed, (isListed) => isListed)
      isBroken = false
      yield* order.waitFor(({ _tag }) => _tag === "Paid")
      yield* eventually(listed, (isListed) => !isListed)
    }),
  )

  it.effect("147 a store that throws once when claims are renewed loses no claim", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const { warnings, observe, down } = observed()
      let renewals = 0
      const seen: Array<string> = []
      yield* onStore(
        ({ renew }) => ({
          renew: (...claims) => (renewals++ === 0 ? Effect.die(new Error("the driver is broken")) : renew(...claims)),
        }),
        observe(
          startWorker(
            queue,
            (job) =>
              Effect.andThen(
                Effect.sleep("2 seconds"),
                Effect.sync(() => seen.push(job)),
              ),
            { claimDuration: "1500 millis" },
          ),
        ),
      )
      const { key } = yield* queue.enqueue({ name: "long" })
      assert.match(String((yield* eventually(down, ({ length }) => length > 0))[0]), /^claim renewal /)
      yield* eventually(stored(key), ({ status }) => status === "completed")
      assert.deepStrictEqual(seen, ["long"])
      assert.strictEqual((yield* stored(key)).attempts, 1)
      assert.deepStrictEqual(yield* down, [])
      assert.strictEqual(warnings.length, 1)
    }),
  )

  it.effect("an exchange that the database undoes because of others is repeated, and is not a failure of the worker", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const { warnings, observe } = observed()
      const failures = Effect.map(Metric.value(commandStoreFailures), ({ count }) => count)
      const before = yield* failures
      let asked = 0
      let disowned = 0
      yield* onStore(
        ({ exchange, disown }) => ({
          exchange: (request) => Effect.suspend(() => (asked++ % 3 === 2 ? exchange(request) : Effect.fail(deadlock))),
          disown: (...held) => {
            disowned++
            return disown(...held)
          },
        }),
        observe(startWorker(queue, () => Effect.void, { claimDuration: "1 minute" })),
      )
      yield* queue.enqueueAll(numbered(20))
      yield* eventually(countsOf(name), ({ completed }) => completed === 20)
      assert.deepStrictEqual([warnings, disowned, yield* failures], [[], 0, before])
    }).pipe(withOwnMetrics),
  )

  it.effect("one worker asks its queues in the order of their names, so that workers lock them in the same order", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queues = ["c", "a", "b"].map((each) => jobs(`${name}-${each}`))
      const asked: Array<ReadonlyArray<string>> = []
      const commands = yield* Commands
      const watched = {
        ...commands,
        exchange: (request: Parameters<typeof commands.exchange>[0]) => {
          asked.push(request.wants.map(({ queue }) => queue))
          return commands.exchange(request)
        },
      }
      const handlers = queues.map((queue) => queue.handler(() => Effect.void))
      yield* Layer.build(CommandWorker.layer(handlers, brisk).pipe(Layer.provide(Layer.succeed(Commands, watched))))
      const first = yield* eventually(
        Effect.sync(() => asked.find(({ length }) => length === 3)),
        (wants) => wants !== undefined,
      )
      assert.deepStrictEqual(first, [`${name}-a`, `${name}-b`, `${name}-c`])
    }),
  )
}
