/** Ordered commands of one instance follow each other at once: no worker polls in these tests. */
import { RetryPolicy } from "@detent/machine"
import { Journal } from "@detent/store"
import { countsOf, eventually, freshName, type Topic } from "@detent/store/testing/CommandKit"
import { commit, freshKey } from "@detent/store/testing/samples"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as DeadLetters from "../../src/DeadLetters.ts"
import type { WorkerOptions } from "../../src/outbox/WorkerConfig.ts"
import { E, openEngine, purchase } from "./Requesting.ts"
import { jobs, startWorker } from "./Working.ts"

const withoutPolling: WorkerOptions = { pollInterval: "1 hour", claimDuration: "1 hour" }

const names = (count: number) => Array.from({ length: count }, (_, index) => `job ${index}`)

/** A stored instance of the test's own. */
const freshInstance = Effect.gen(function* () {
  const key = yield* freshKey
  yield* (yield* Journal).commit([commit(key, -1)])
  return key
})

/** A handler that takes a moment, and the names it executed. */
const recorded = () => {
  const executed: Array<string> = []
  return {
    handle: (name: string) =>
      Effect.andThen(
        Effect.sleep(5),
        Effect.sync(() => executed.push(name)),
      ),
    until: (count: number) =>
      eventually(
        Effect.sync(() => executed),
        ({ length }) => length >= count,
      ),
  }
}

export const ordering: Topic = (it) => {
  it.effect("152 ten ordered commands of one instance follow each other without waiting for a poll", () =>
    Effect.gen(function* () {
      const queue = jobs(yield* freshName)
      const instance = yield* freshInstance
      const { handle, until } = recorded()
      yield* startWorker(queue, handle, withoutPolling)
      yield* queue.enqueueAll(names(10).map((name) => ({ payload: { name }, instance, ordered: true })))
      assert.deepStrictEqual(yield* until(10), names(10))
      yield* eventually(countsOf(queue.name), ({ completed }) => completed === 10)
    }),
  )

  it.effect("152 also those that are enqueued one by one while another is executed", () =>
    Effect.gen(function* () {
      const queue = jobs(yield* freshName)
      const instance = yield* freshInstance
      const { handle, until } = recorded()
      yield* startWorker(queue, handle, withoutPolling)
      for (const name of names(10)) yield* Effect.andThen(queue.enqueue({ name }, { instance, ordered: true }), Effect.sleep(2))
      assert.deepStrictEqual(yield* until(10), names(10))
    }),
  )

  it.effect("152 also across queues that different workers serve", () =>
    Effect.gen(function* () {
      const first = jobs(yield* freshName)
      const second = jobs(yield* freshName)
      const instance = yield* freshInstance
      const { handle, until } = recorded()
      yield* startWorker(first, handle, withoutPolling)
      yield* startWorker(second, handle, withoutPolling)
      for (const [index, name] of names(10).entries())
        yield* (index % 2 === 0 ? first : second).enqueue({ name }, { instance, ordered: true })
      assert.deepStrictEqual(yield* until(10), names(10))
    }),
  )

  it.effect("152 also after one that fails for good, and after one that is skipped by hand", () =>
    Effect.gen(function* () {
      const queue = jobs(yield* freshName)
      const instance = yield* freshInstance
      const { handle, until } = recorded()
      const failing = (name: string) => (name === "job 0" ? Effect.die("out of paper") : handle(name))
      const options = { instance, ordered: true }
      yield* queue.enqueue({ name: "job 0" }, options)
      yield* queue.enqueue({ name: "job 1" }, options)
      const skipped = yield* queue.enqueue({ name: "job 2" }, { ...options, delay: "1 hour" })
      yield* queue.enqueue({ name: "job 3" }, options)
      yield* startWorker(queue, failing, { ...withoutPolling, retry: RetryPolicy.none })
      assert.deepStrictEqual(yield* until(1), ["job 1"])
      assert.isTrue(yield* DeadLetters.skip(skipped.key, "no longer needed"))
      assert.deepStrictEqual(yield* until(2), ["job 1", "job 3"])
    }),
  )

  it.effect("152 also those that an instance requests", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const { handle, until } = recorded()
      const Purchase = purchase(name)
        .commands({ mail: { ordered: true }, charge: { ordered: true, queue: `${name}-cards` } })
        .build({ charge: () => Effect.as(handle("charge"), "receipt"), mail: ({ text }) => handle(text) })
      const { engine } = yield* openEngine({ worker: withoutPolling })
      const order = yield* engine.start(Purchase, "o-1", { total: 42 })
      yield* order.send(E.Pay())
      assert.deepStrictEqual(yield* until(2), ["charge", "we charge you"])
    }),
  )
}
