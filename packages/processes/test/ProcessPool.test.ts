import { existsSync, readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { makeProcessPool, type ProcessPoolOptions } from "../src/ProcessPool.ts"

const pool = (options: Partial<ProcessPoolOptions>) =>
  makeProcessPool({ entry: new URL("./testWorker.ts", import.meta.url), limit: { time: "60 seconds", memory: 1024 }, ...options })

/** A file that tasks count in, one character each time. */
const counter = Effect.acquireRelease(
  Effect.promise(async () => join(await mkdtemp(join(tmpdir(), "detent-workers-")), "count")),
  (file) => Effect.promise(() => rm(join(file, ".."), { recursive: true, force: true })),
)

const counted = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "")

/** Workers do not stop for a test clock: looks again until it holds. */
const until = (holds: () => boolean) =>
  Effect.promise(async () => {
    while (!holds()) await new Promise((resume) => setTimeout(resume, 2))
  })

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    // There is no such process.
    return false
  }
}

describe("a pool of workers", () => {
  it.live("gives each caller its own answer", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 2 })
      const numbers = Array.from({ length: 40 }, (_, at) => at)
      const answers = yield* Effect.forEach(numbers, (number) => run("double", number), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers,
        numbers.map((number) => number * 2),
      )
    }),
  )

  it.live("replaces a worker that does not start, and fails the task if the second one does not start either", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ entry: new URL("./silentWorker.ts", import.meta.url), size: 1, startWithin: "300 millis" })
      const error = yield* Effect.flip(run("double", 1))
      assert.deepInclude(error, { _tag: "WorkerCrashed", attempts: 2, problem: "it did not start within 300ms" })
    }),
  )

  it.live("works on no more tasks at once than it has workers, however many wait", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 2, queue: 1 })
      const file = yield* counter
      yield* Effect.forEach(Array.from({ length: 8 }), () => run("together", { file }), { concurrency: "unbounded", discard: true })
      let [now, most] = [0, 0]
      for (const mark of counted(file)) {
        now += mark === "(" ? 1 : -1
        most = Math.max(most, now)
      }
      assert.strictEqual(now, 0)
      assert.isAtMost(most, 2)
    }),
  )

  it.effect("ends workers that have had nothing to do for a while, and starts others when they are needed", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const first = yield* run("worker", undefined)
      assert.strictEqual(yield* run("worker", undefined), first)
      yield* TestClock.adjust("20 seconds")
      assert.notStrictEqual(yield* run("worker", undefined), first)
    }),
  )

  it.effect("gives no task to a worker that it is about to end", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 2 })
      const file = yield* counter
      // Each waits for the other, so that they have a worker each.
      yield* Effect.forEach([1, 2], () => run("meet", { file, others: 2 }), { concurrency: 2 })
      // Both workers are idle for too long. This task comes while the pool waits for the first of them to exit.
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* run("rest", 200), "rested")
    }),
  )

  it.live("tells what went wrong in a task, and does not try it again", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const file = yield* counter
      const error = yield* Effect.flip(run("fail", { file }))
      assert.strictEqual(error.message, "the task fail failed: no such luck")
      assert.strictEqual(counted(file), "x")
      assert.match((yield* Effect.flip(run("unheard of", undefined))).message, /knows no such task/)
      assert.match((yield* Effect.flip(run("double", () => 1))).message, /could not be cloned/)
      assert.strictEqual(yield* run("double", 21), 42)
    }),
  )

  it.live("replaces a worker that ended and tries its task once more", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      assert.strictEqual(yield* run("end", { file: yield* counter, times: 1 }), "done")
    }),
  )

  it.live("gives up when the second worker ends too, and continues with other tasks", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const file = yield* counter
      const error = yield* Effect.flip(run("end", { file, times: 9 }))
      assert.strictEqual(error._tag, "WorkerCrashed")
      assert.match(error.message, /^2 workers ended while working on end: it left with code 7; /)
      assert.strictEqual(counted(file), "xx")
      assert.strictEqual(yield* run("double", 4), 8)
    }),
  )

  it.live("replaces a worker that says its state cannot be relied on", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const first = yield* run("worker", undefined)
      const error = yield* Effect.flip(run("unsound", undefined))
      assert.strictEqual(error.message, "the task unsound failed: its memory is a mess")
      assert.notStrictEqual(yield* run("worker", undefined), first)
    }),
  )

  it.live("ends the work of a caller that is interrupted", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const file = yield* counter
      const fiber = yield* Effect.forkChild(run("forever", { file }))
      yield* until(() => counted(file).length > 3)
      yield* Fiber.interrupt(fiber)
      const after = counted(file)
      assert.strictEqual(yield* run("double", 3), 6)
      assert.strictEqual(counted(file), after)
    }),
  )

  it.live("forgets a caller that is interrupted while it waits", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1, queue: 1 })
      const file = yield* counter
      const first = yield* Effect.forkChild(run("forever", { file }))
      yield* until(() => counted(file).length > 0)
      const waiting = yield* Effect.forEach([1, 2, 3], (number) => Effect.forkChild(run("double", number)))
      yield* Effect.yieldNow
      yield* Fiber.interruptAll(waiting)
      yield* Fiber.interrupt(first)
      assert.strictEqual(yield* run("double", 5), 10)
    }),
  )

  it.live("ends its workers with its scope", () =>
    Effect.gen(function* () {
      const file = yield* counter
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const { run } = yield* pool({ size: 1 })
          const found = yield* run("worker", undefined)
          yield* Effect.forkDetach(Effect.exit(run("forever", { file })))
          yield* until(() => counted(file).length > 3)
          return Number(found)
        }),
      )
      assert.isFalse(isRunning(pid))
    }),
  )

  it.live("hands a worker what tasks share only once", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const shared = { value: { large: true } }
      assert.deepStrictEqual(yield* run("shared", undefined, shared), { value: { large: true }, before: false })
      assert.deepStrictEqual(yield* run("shared", undefined, shared), { value: { large: true }, before: true })
      // Of other callers: each has its own.
      for (const name of ["b", "c", "d", "e"])
        assert.deepStrictEqual(yield* run("shared", undefined, { value: { name } }), { value: { name }, before: false })
      assert.deepStrictEqual(yield* run("shared", undefined, shared), { value: { large: true }, before: false }, "it had to make room")
    }),
  )

  it.live("passes no keys and passwords on to its workers", () =>
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env["SOME_API_KEY"] = "secret"
        }),
        () =>
          Effect.sync(() => {
            delete process.env["SOME_API_KEY"]
          }),
      )
      const { run } = yield* pool({ size: 1 })
      const names = (yield* run("environment", undefined)) as ReadonlyArray<string>
      assert.notInclude(names, "SOME_API_KEY")
    }),
  )
})

describe("a task that reads sources", () => {
  const numbers = Stream.rechunk(Stream.range(1, 1000), 7)

  it.live("reads them as often as it asks, and gives its output in parts", () =>
    Effect.gen(function* () {
      const { stream } = yield* pool({ size: 1 })
      let output: unknown
      const sums = yield* Stream.runCollect(
        stream("sums", undefined, {
          sources: { numbers },
          done: (sum) => {
            output = sum
          },
        }),
      )
      assert.deepStrictEqual([sums.length, sums[0], sums.at(-1), output], [1000, [1, 500500], [1000, 500500], 500500])
    }),
  )

  it.live("fails with its source, and leaves the pool as it was", () =>
    Effect.gen(function* () {
      const { stream, run } = yield* pool({ size: 1 })
      const broken = Stream.concat(numbers, Stream.fail("the disk is gone"))
      assert.strictEqual(
        yield* Effect.flip(Stream.runDrain(stream("sums", undefined, { sources: { numbers: broken } }))),
        "the disk is gone",
      )
      assert.strictEqual(yield* run("double", 1), 2)
    }),
  )

  it.live("is not charged for the time in which it waits for a source", () =>
    Effect.gen(function* () {
      const { stream } = yield* pool({ size: 1 })
      const slow = Stream.tap(Stream.rechunk(Stream.range(1, 8), 1), () => Effect.sleep("200 millis"))
      const limit = { time: "1 second", memory: 1024 } as const
      assert.strictEqual(yield* Stream.runCount(stream("sums", undefined, { limit, sources: { numbers: slow } })), 8)
    }),
  )

  it.live("finds the worker that last worked for the same, as long as it is idle", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 2 })
      const prepare = (name: string) => run("prepare", name, undefined, { affinity: name, sources: { large: Stream.make(1) } })
      assert.deepStrictEqual(
        [yield* prepare("a"), yield* prepare("b"), yield* prepare("a"), yield* prepare("b")],
        [false, false, true, true],
      )
    }),
  )
})

describe("a task that exceeds a limit", () => {
  it.live("of time is stopped and tried once more, and fails with the limit and the next step", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1, limit: { time: "300 millis", memory: 1024 } })
      const file = yield* counter
      const error = yield* Effect.flip(run("forever", { file }))
      assert.strictEqual(error._tag, "LimitExceeded")
      assert.match(error.message, /forever was stopped: it took longer than 300ms, in 2 attempts; .*raise the limit/)
      const after = counted(file)
      assert.strictEqual(yield* run("double", 2), 4)
      assert.strictEqual(counted(file), after)
    }),
  )

  it.live("of time is charged for its own work, not for what else takes time", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1, limit: { time: "500 millis", memory: 1024 } })
      assert.strictEqual(yield* run("rest", 1000), "rested")
      const error = yield* Effect.flip(run("spin", undefined))
      assert.match(error.message, /spin was stopped: it took longer than 500ms, in 2 attempts/)
    }),
  )

  for (const task of ["buffers", "heap"])
    it.live(`of memory is stopped, whether it fills ${task === "heap" ? "the heap" : "memory outside of the heap"}`, () =>
      Effect.gen(function* () {
        const { run } = yield* pool({ size: 1 })
        const file = yield* counter
        const error = yield* Effect.flip(run(task, { file }, undefined, { limit: { time: "20 seconds", memory: 300 } }))
        assert.match(error.message, /it needed more than 300 MB of memory, in 2 attempts/)
        assert.strictEqual(counted(file), "xx")
        assert.strictEqual(yield* run("double", 2), 4)
      }),
    )
})
