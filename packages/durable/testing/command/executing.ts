/** How workers execute: verdicts, retries, timeouts and crashes of handlers, none of which stops the worker. */
import { CommandResult, RetryPolicy } from "@detent/machine"
import { Commands } from "@detent/store"
import { commandsEnqueued } from "@detent/store/internal"
import { alone, countsOf, eventually, freshName, stored, type Topic } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { commandsCompleted, commandsFailed, commandsLost, commandsRetried, commandsSkipped } from "../../src/outbox/CommandMetrics.ts"
import { frozen, jobs, startWorker } from "./Working.ts"

const over = (queue: string, total: number) =>
  eventually(countsOf(queue), ({ completed = 0, failed = 0, skipped = 0 }) => completed + failed + skipped === total)

export const executing: Topic = (it) => {
  it.effect("119 success is completed; already executed is skipped; failed for good is not tried again", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const runs: Array<string> = []
      yield* startWorker(queue, (job) => {
        runs.push(job)
        if (job === "skip") return CommandResult.alreadyExecuted("the warehouse knows")
        if (job === "fail") return CommandResult.failForGood(new Error("no such account"))
        return Effect.succeed("fine")
      })
      for (const job of ["do", "skip", "fail"]) yield* queue.enqueue({ name: job }, { key: `${name}-${job}` })
      assert.deepStrictEqual(yield* over(name, 3), { completed: 1, skipped: 1, failed: 1 })
      assert.deepStrictEqual(runs.sort(), ["do", "fail", "skip"])
      assert.strictEqual((yield* stored(`${name}-skip`)).problem, "the warehouse knows")
      assert.strictEqual((yield* stored(`${name}-fail`)).problem, "no such account")
    }),
  )

  it.effect("the handler gets the idempotency key, the same each time, and how often it was tried", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, { retry: RetryPolicy.fixed({ delay: 5, maxAttempts: 3 }) })
      const seen: Array<readonly [string, number]> = []
      yield* startWorker(queue, (_, { key, attempts }) => {
        seen.push([key, attempts])
        return attempts < 3 ? Effect.fail("again") : Effect.void
      })
      const { key } = yield* queue.enqueue({ name: "a" })
      yield* over(name, 1)
      assert.deepStrictEqual(seen, [
        [key, 1],
        [key, 2],
        [key, 3],
      ])
    }),
  )

  it.effect("120 however a handler fails, its command fails by policy, and the others are executed", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }) })
      const poison: { readonly [job: string]: () => unknown } = {
        throws: () => {
          throw new Error("thrown")
        },
        dies: () => Effect.die(new Error("died")),
        "interrupts itself": () => Effect.interrupt,
        "rejects its promise": () => Promise.reject(new Error("rejected")),
        "returns an Effect in a promise": () => Promise.resolve(Effect.void),
        "returns nothing": () => undefined,
        "fails with nothing": () => Effect.fail(undefined),
        "fails with something odd": () => Effect.fail({ toString: () => Promise.resolve() }),
      }
      const runs: Array<string> = []
      yield* startWorker(queue, (job) => {
        runs.push(job)
        return (poison[job]?.() ?? (job in poison ? undefined : Effect.void)) as Effect.Effect<void>
      })
      const bad = Object.keys(poison)
      const all = [...bad, ...Array.from({ length: 40 }, (_, index) => `good ${index}`)]
      yield* Effect.forEach(all, (job) => queue.enqueue({ name: job }, { key: `${name}-${job}` }), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* over(name, all.length), { completed: 40, failed: bad.length })
      for (const job of bad) {
        assert.strictEqual(runs.filter((run) => run === job).length, 2, job)
        const { problem, attempts } = yield* stored(`${name}-${job}`)
        assert.strictEqual(attempts, 2)
        assert.isString(problem)
      }
      assert.strictEqual((yield* stored(`${name}-throws`)).problem, "thrown")
      assert.strictEqual((yield* stored(`${name}-rejects its promise`)).problem, "rejected")
      assert.match((yield* stored(`${name}-returns an Effect in a promise`)).problem ?? "", /is async and returned an Effect; await run/)
      assert.match((yield* stored(`${name}-returns nothing`)).problem ?? "", /returned undefined; return an Effect or a Promise/)
    }),
  )

  it.effect("120 a command that cannot be read fails at once; the others are executed", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const commands = yield* Commands
      const queue = jobs(name)
      const raw = { queue: name, slot: name, instance: undefined, priority: 9, ordered: false, runAt: undefined, delayMillis: 0 }
      yield* commands.enqueue([
        { ...raw, key: `${name}-json`, parameters: "not json" },
        { ...raw, key: `${name}-schema`, parameters: `{"name":7}` },
      ])
      yield* queue.enqueue({ name: "good" })
      yield* startWorker(queue, () => Effect.void)
      assert.deepStrictEqual(yield* over(name, 3), { completed: 1, failed: 2 })
      assert.match((yield* stored(`${name}-schema`)).problem ?? "", /does not fit the schema/)
    }),
  )

  it.effect("120 a command that hangs, even uninterruptibly, ends by its timeout, and the others of the queue are executed meanwhile", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, { timeout: 60, retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }) })
      let interrupted = 0
      const hangs = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => {
          interrupted++
        }),
      )
      yield* startWorker(
        queue,
        (job) => (job === "hangs" ? hangs : job === "stuck" ? Effect.uninterruptible(Effect.sleep("1 second")) : Effect.void),
        { concurrency: 2 },
      )
      yield* queue.enqueueAll(
        ["hangs", "stuck", ...Array.from({ length: 10 }, (_, index) => `${index}`)].map((job) => ({
          payload: { name: job },
          key: `${name}-${job}`,
        })),
      )
      assert.deepStrictEqual(yield* over(name, 12), { completed: 10, failed: 2 })
      assert.strictEqual(interrupted, 2)
      for (const job of ["hangs", "stuck"]) {
        const { attempts, problem } = yield* stored(`${name}-${job}`)
        assert.deepStrictEqual([attempts, problem], [2, "it took longer than its timeout of 60 ms"])
      }
    }),
  )

  it.effect(
    "123 the counters agree with the table",
    () =>
      Effect.gen(function* () {
        const name = yield* freshName
        const counters = [commandsEnqueued, commandsCompleted, commandsSkipped, commandsFailed, commandsRetried, commandsLost]
        const read = Effect.forEach(counters, (counter) => Effect.map(Metric.value(counter), ({ count }) => count))
        const before = yield* read
        const queue = jobs(name, { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 3 }) })
        const { stop } = yield* startWorker(queue, (job) => {
          const kind = Number(job) % 4
          if (kind === 1) return CommandResult.alreadyExecuted()
          return kind === 2 ? Effect.fail("no") : Effect.void
        })
        const add = (index: number) => queue.enqueue({ name: `${index}` }, { key: `${name}-${index % 40}` })
        yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => index),
          add,
          { concurrency: "unbounded" },
        )
        const table = yield* over(name, 40)
        yield* stop
        const after = yield* read
        const [enqueued, completed, skipped, failed, retried, lost] = after.map((count, index) => count - (before[index] ?? 0))
        assert.deepStrictEqual({ completed, skipped, failed }, table as never)
        assert.deepStrictEqual([enqueued, retried, lost], [40, 20, 0])
      }),
    alone,
  )

  it.effect("124 N attempts are N runs with every policy", () =>
    Effect.gen(function* () {
      const policies = [
        [RetryPolicy.none, 1],
        [RetryPolicy.fixed({ delay: 1, maxAttempts: 3 }), 3],
        [RetryPolicy.exponential({ initialDelay: 1, maxDelay: 4, maxAttempts: 4, jitter: 0.5 }), 4],
      ] as const
      for (const [retry, runs] of policies) {
        const name = yield* freshName
        const queue = jobs(name, { retry })
        let ran = 0
        const { stop } = yield* startWorker(queue, () => {
          ran++
          return Effect.fail("no")
        })
        yield* queue.enqueue({ name: "a" }, { key: name })
        yield* over(name, 1)
        yield* stop
        assert.strictEqual(ran, runs)
        const { status, attempts } = yield* stored(name)
        assert.deepStrictEqual([status, attempts], ["failed", runs])
      }
    }),
  )

  it.effect("124 the queue decides which failures are worth another attempt, and the failure how long it waits", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, {
        retry: RetryPolicy.fixed({ delay: "1 hour", maxAttempts: 5 }),
        retryable: (error) => error !== "declined",
      })
      const runs: Array<string> = []
      yield* startWorker(queue, (job, { attempts }) => {
        runs.push(job)
        if (job === "declined") return Effect.fail("declined")
        return attempts === 1 ? CommandResult.retryAfter(1, "busy") : Effect.void
      })
      yield* queue.enqueue({ name: "declined" })
      yield* queue.enqueue({ name: "busy" })
      assert.deepStrictEqual(yield* over(name, 2), { completed: 1, failed: 1 })
      assert.deepStrictEqual(runs.sort(), ["busy", "busy", "declined"])
    }),
  )

  /** Claims all commands of a queue, as a worker does that is killed at once. */
  const killed = (queue: string, count: number, times: number) =>
    Effect.gen(function* () {
      const commands = yield* Commands
      for (let worker = 0; worker < times; worker++) {
        const claim = commands.exchange({ worker: `killed ${worker}`, finished: [], wants: [{ queue, limit: count }], claimMillis: 1 })
        yield* eventually(claim, ({ claimed }) => claimed.length === count)
      }
    })

  it.effect("124 executions that never end count: a command that kills its worker each time fails for good", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }) })
      yield* queue.enqueue({ name: "deadly" }, { key: name })
      yield* killed(name, 1, 3)
      let ran = 0
      yield* startWorker(queue, () =>
        Effect.sync(() => {
          ran++
        }),
      )
      yield* over(name, 1)
      const { status, problem } = yield* stored(name)
      assert.deepStrictEqual([ran, status], [0, "failed"])
      assert.match(problem ?? "", /^3 executions did not end/)
    }),
  )

  it.effect("124 commands that were claimed beside one that kills its worker are tried once more, each alone", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }) })
      const names = ["a", "b", "c", "d", "e"]
      for (const one of names) yield* queue.enqueue({ name: one })
      yield* killed(name, names.length, 2)
      const runs: Array<string> = []
      let together = 0
      let most = 0
      yield* startWorker(queue, (one) =>
        Effect.gen(function* () {
          runs.push(one)
          most = Math.max(most, ++together)
          yield* Effect.sleep(20)
          together--
        }),
      )
      assert.deepStrictEqual(yield* over(name, names.length), { completed: names.length })
      assert.deepStrictEqual([runs.sort(), most], [names, 1])
    }),
  )

  it.effect("124 a command that may be tried once is not tried again after its worker was killed", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name, { retry: RetryPolicy.none })
      yield* queue.enqueue({ name: "once" }, { key: name })
      yield* killed(name, 1, 1)
      let ran = 0
      yield* startWorker(queue, () =>
        Effect.sync(() => {
          ran++
        }),
      )
      assert.deepStrictEqual(yield* over(name, 1), { failed: 1 })
      assert.strictEqual(ran, 0)
    }),
  )

  it.effect("a worker is notified at once and does not poll", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = jobs(name)
      const seen: Array<string> = []
      yield* frozen(startWorker(queue, (job) => Effect.sync(() => seen.push(job))))
      for (let index = 0; index < 5; index++) {
        yield* queue.enqueue({ name: `${index}` })
        yield* eventually(
          Effect.sync(() => seen.length),
          (length) => length === index + 1,
        )
      }
    }),
  )
}
