/** Workers side by side, workers that stop, and stores that fail them. */

import { Commands } from "@detent/store"
import { claim, countsOf, eventually, freshName, stored, type Topic, withOwnMetrics } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import { processName } from "../../src/nodes/ProcessName.ts"
import { commandStoreFailures } from "../../src/outbox/CommandMetrics.ts"
import * as Queues from "../../src/outbox/Queues.ts"
import { jobs, onStore, outage, startWorker } from "./Working.ts"

const numbered = (count: number) => Array.from({ length: count }, (_, index) => ({ payload: { name: `${index}` } }))

const done = (queue: string, completed: number) => eventually(countsOf(queue), (counts) => counts["completed"] === completed)

export const sharing: Topic = (it) => {
  it.effect("121 a command that takes longer than its claim stays with its worker", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      let runs = 0
      const slow = () =>
        Effect.andThen(
          Effect.sync(() => {
            runs++
          }),
          Effect.sleep("5 seconds"),
        )
      // A claim is renewed when a third of it is over: a process that stands still for two seconds does not lose it.
      const options = { claimDuration: "3 seconds" } as const
      yield* startWorker(queue, slow, options)
      yield* startWorker(queue, slow, options)
      yield* queue.enqueue({ name: "slow" }, { key: name })
      yield* done(name, 1)
      assert.deepStrictEqual([runs, (yield* stored(name)).attempts], [1, 1])
    }),
  )

  it.effect("121 an execution that lost its claim is interrupted, and its result is not stored", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const stopped = yield* Deferred.make<void>()
      yield* onStore(
        (commands) => ({ renew: (worker, claims) => commands.renew(worker, claims, 1) }),
        startWorker(queue, () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(stopped, undefined)), {
          claimDuration: "90 millis",
        }),
      )
      yield* queue.enqueue({ name: "a" }, { key: name })
      yield* eventually(countsOf(name), (counts) => counts["processing"] === 1)
      yield* Effect.sleep(120)
      yield* eventually(claim(name, { worker: "other" }), (claimed) => claimed.length === 1)
      yield* Deferred.await(stopped)
      assert.strictEqual((yield* stored(name)).worker, "other")
    }),
  )

  it.effect(
    "121 commands of a process that has ended are executed at once by a worker on the same host, others when their claim is over",
    () =>
      Effect.gen(function* () {
        const name = yield* freshName
        const queue = jobs(name)
        yield* queue.enqueueAll(numbered(3))
        const executed: Array<string> = []
        const [prefix, host, , ...rest] = processName("1").split(".")
        // No process has a number as great as this.
        const ended = [prefix, host, "zzzzz", ...rest].join(".")
        for (const worker of [ended, `worker-1/${ended}`, "elsewhere"])
          assert.strictEqual((yield* claim(name, { worker, limit: 1, millis: 600_000 })).length, 1)
        yield* startWorker(queue, (job) => Effect.sync(() => executed.push(job)))
        yield* done(name, 2)
        assert.deepStrictEqual(executed.toSorted(), ["0", "1"])
        assert.strictEqual((yield* countsOf(name))["processing"], 1)
      }),
  )

  it.effect("122 a stop lets running commands finish and hands the rest back", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const begun: Array<string> = []
      const go = yield* Deferred.make<void>()
      const { stop } = yield* startWorker(
        queue,
        (job) => {
          begun.push(job)
          return Deferred.await(go)
        },
        { concurrency: 2, batchLimit: 10, drainTimeout: "20 seconds" },
      )
      yield* queue.enqueueAll(numbered(6))
      yield* eventually(
        Effect.sync(() => begun.length),
        (length) => length === 2,
      )
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* eventually(countsOf(name), ({ pending }) => pending === 4)
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(yield* countsOf(name), { completed: 2, pending: 4 })
      assert.deepStrictEqual(begun, ["0", "1"])
      assert.deepStrictEqual(
        (yield* claim(name)).map(({ attempts }) => attempts),
        [1, 1, 1, 1],
      )
    }),
  )

  it.effect("122 a stop does not wait without end: a command that does not end is interrupted and handed back, and does not count", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const begun = yield* Deferred.make<void>()
      const { stop } = yield* startWorker(queue, () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never), {
        drainTimeout: 50,
      })
      yield* queue.enqueue({ name: "a" }, { key: name })
      yield* Deferred.await(begun)
      yield* stop
      const { status, attempts } = yield* stored(name)
      assert.deepStrictEqual([status, attempts], ["pending", 0])
    }),
  )

  it.effect("122 commands that the store gives a stopping worker are handed back at once", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const answered = yield* Deferred.make<void>()
      let runs = 0
      yield* queue.enqueueAll(numbered(5))
      const { stop } = yield* onStore(
        (commands) => ({ exchange: (request) => Effect.tap(commands.exchange(request), () => Deferred.await(answered)) }),
        startWorker(queue, () =>
          Effect.sync(() => {
            runs++
          }),
        ),
      )
      yield* eventually(countsOf(name), (counts) => counts["processing"] === 5)
      const stopping = yield* Effect.forkChild(stop, { startImmediately: true })
      yield* Deferred.succeed(answered, undefined)
      yield* Fiber.join(stopping)
      assert.strictEqual(runs, 0)
      assert.deepStrictEqual(yield* countsOf(name), { pending: 5 })
      assert.deepStrictEqual(
        (yield* claim(name)).map(({ attempts }) => attempts),
        [1, 1, 1, 1, 1],
      )
    }),
  )

  it.effect("ten workers on one queue execute each command once", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const runs = new Map<string, number>()
      const count = (job: string) => Effect.sync(() => runs.set(job, (runs.get(job) ?? 0) + 1))
      for (let worker = 0; worker < 10; worker++) yield* startWorker(queue, count)
      yield* Effect.forEach(
        Array.from({ length: 10 }, (_, index) => index),
        () => queue.enqueueAll(numbered(60)),
        { concurrency: "unbounded" },
      )
      yield* done(name, 600)
      assert.strictEqual(
        [...runs.values()].reduce((sum, ran) => sum + ran, 0),
        600,
      )
    }),
  )

  it.effect("126 workers obey a pause, resume at once when it ends, and keep to a limit together", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      let running = 0
      let most = 0
      const work = () =>
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          yield* Effect.sleep(3)
          running--
        })
      yield* Queues.pause(name)
      yield* Queues.limit(name, { concurrency: 3 })
      yield* startWorker(queue, work)
      yield* startWorker(queue, work)
      yield* queue.enqueueAll(numbered(30))
      yield* Effect.sleep(100)
      assert.deepStrictEqual(yield* countsOf(name), { pending: 30 })
      yield* Queues.resume(name)
      yield* done(name, 30)
      assert.strictEqual(most, 3)
    }),
  )

  it.effect("a queue whose commands hang does not hold up another of the same worker", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const [stuck, other] = [jobs(`${name}-stuck`), jobs(name)]
      yield* startWorker(stuck, () => Effect.never, { concurrency: 2, drainTimeout: 10 })
      yield* startWorker(other, () => Effect.void)
      yield* stuck.enqueueAll(numbered(10))
      yield* other.enqueueAll(numbered(50))
      yield* done(name, 50)
    }),
  )

  it.effect("a store that fails is counted and survived: every command is executed once", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const failures = Effect.map(Metric.value(commandStoreFailures), ({ count }) => count)
      const before = yield* failures
      const runs = new Map<string, number>()
      let asked = 0
      yield* onStore(
        (commands) => ({
          exchange: (request) =>
            Effect.suspend(() => {
              asked++
              // In turn: refused, stored without an answer, stored.
              if (asked % 3 === 1) return Effect.fail(outage)
              return asked % 3 === 2 ? Effect.andThen(commands.exchange(request), Effect.fail(outage)) : commands.exchange(request)
            }),
        }),
        startWorker(queue, (job) => Effect.sync(() => runs.set(job, (runs.get(job) ?? 0) + 1)), { claimDuration: "1 minute" }),
      )
      yield* queue.enqueueAll(numbered(40))
      yield* done(name, 40)
      assert.deepStrictEqual(new Set(runs.values()), new Set([1]))
      assert.isAbove(yield* failures, before)
      const { commands } = yield* Effect.flatMap(Commands, (service) => service.list({ queue: name }, 100))
      assert.deepStrictEqual(new Set(commands.map(({ attempts }) => attempts)), new Set([1]))
    }).pipe(withOwnMetrics),
  )
}
