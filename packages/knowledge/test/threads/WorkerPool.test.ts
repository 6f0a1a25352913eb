import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as BuiltIn from "../../src/extract/builtin/BuiltIn.ts"
import * as PooledBuiltIn from "../../src/extract/builtin/PooledBuiltIn.ts"
import { Extractor, type ExtractorService } from "../../src/extract/Extractor.ts"
import { OntologyIndex } from "../../src/ontology/OntologyIndex.ts"
import { makeWorkerPool, WorkerPool } from "../../src/threads/WorkerPool.ts"
import { examples, ontology } from "../extract/builtin/observatory.ts"
import { turtle } from "../ontology/library.ts"

const pool = (options: { readonly size?: number; readonly queue?: number }) =>
  makeWorkerPool({ ...options, entry: new URL("./testThread.ts", import.meta.url) })

const counters = () => new Int32Array(new SharedArrayBuffer(8))

/** Threads do not stop for a test clock: looks again until it holds. */
const until = (holds: () => boolean) =>
  Effect.promise(async () => {
    while (!holds()) await new Promise((resume) => setTimeout(resume, 2))
  })

describe("a pool of worker threads", () => {
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

  it.live("works on no more tasks at once than it has threads, however many wait", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 2, queue: 1 })
      const count = counters()
      yield* Effect.forEach(Array.from({ length: 8 }), () => run("together", { counters: count }), {
        concurrency: "unbounded",
        discard: true,
      })
      assert.isAtMost(count[1] ?? 9, 2)
    }),
  )

  it.effect("ends threads that have had nothing to do for a while, and starts others when they are needed", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const first = yield* run("thread", undefined)
      assert.strictEqual(yield* run("thread", undefined), first)
      yield* TestClock.adjust("20 seconds")
      assert.notStrictEqual(yield* run("thread", undefined), first)
    }),
  )

  it.live("tells what went wrong in a task, and does not try it again", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const count = counters()
      const error = yield* Effect.flip(run("fail", { counters: count }))
      assert.strictEqual(error.message, "the task fail failed: no such luck")
      assert.strictEqual(count[0], 1)
      assert.match((yield* Effect.flip(run("unheard of", undefined))).message, /knows no such task/)
      assert.strictEqual(yield* run("double", 21), 42)
    }),
  )

  it.live("replaces a thread that ended and tries its task once more", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      assert.strictEqual(yield* run("end", { counters: counters(), times: 1 }), "done")
    }),
  )

  it.live("gives up when the second thread ends too, and goes on with other tasks", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const count = counters()
      const error = yield* Effect.flip(run("end", { counters: count, times: 9 }))
      assert.strictEqual(error._tag, "WorkerCrashed")
      assert.match(error.message, /^2 worker threads ended while working on end: it left with code 7; /)
      assert.strictEqual(count[0], 2)
      assert.strictEqual(yield* run("double", 4), 8)
    }),
  )

  it.live("ends the work of a caller that is interrupted", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const count = counters()
      const fiber = yield* Effect.forkChild(run("forever", { counters: count }))
      yield* until(() => Atomics.load(count, 0) > 3)
      yield* Fiber.interrupt(fiber)
      const after = Atomics.load(count, 0)
      assert.strictEqual(yield* run("double", 3), 6)
      assert.strictEqual(Atomics.load(count, 0), after)
    }),
  )

  it.live("forgets a caller that is interrupted while it waits", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1, queue: 1 })
      const count = counters()
      const first = yield* Effect.forkChild(run("forever", { counters: count }))
      yield* until(() => Atomics.load(count, 0) > 0)
      const waiting = yield* Effect.forEach([1, 2, 3], (number) => Effect.forkChild(run("double", number)))
      yield* Effect.yieldNow
      yield* Fiber.interruptAll(waiting)
      yield* Fiber.interrupt(first)
      assert.strictEqual(yield* run("double", 5), 10)
    }),
  )

  it.live("ends its threads with its scope", () =>
    Effect.gen(function* () {
      const count = counters()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { run } = yield* pool({ size: 1 })
          yield* Effect.forkDetach(Effect.exit(run("forever", { counters: count })))
          yield* until(() => Atomics.load(count, 0) > 3)
        }),
      )
      const after = Atomics.load(count, 0)
      yield* Effect.promise(() => new Promise((resume) => setTimeout(resume, 50)))
      assert.strictEqual(Atomics.load(count, 0), after)
    }),
  )

  it.live("hands a thread what tasks share only once", () =>
    Effect.gen(function* () {
      const { run } = yield* pool({ size: 1 })
      const shared = { key: "a", value: { large: true } }
      assert.deepStrictEqual(yield* run("shared", undefined, shared), { value: { large: true }, before: false })
      assert.deepStrictEqual(yield* run("shared", undefined, shared), { value: { large: true }, before: true })
      for (const key of ["b", "c", "d", "e"]) yield* run("shared", undefined, { key, value: { key } })
      assert.deepStrictEqual(yield* run("shared", undefined, shared), { value: { large: true }, before: false }, "it had to make room")
    }),
  )

  it.live("reads ontologies", () =>
    Effect.gen(function* () {
      const { run } = yield* makeWorkerPool({ size: 1 })
      const index = OntologyIndex.fromJSON(yield* run("ontology.load", { name: "library.ttl", text: turtle }))
      assert.strictEqual(index.classes.size, 7)
      const error = yield* Effect.flip(run("ontology.load", { name: "library.ttl", text: "oops" }))
      assert.match(error.message, /library\.ttl, line 1: no valid Turtle/)
    }),
  )
})

describe("the built-in extractor on threads", () => {
  const texts = [
    "Comet Tavi was discovered by Joan Ek on 7 July 1988.",
    "Sor Observatory is located in Lisbon. It is directed by Vera Moor, who was born in Portugal.",
    "The Owl Telescope was built by Holm Works.",
    "telescope: Wren\nmirror diameter: 0.9\n",
  ]

  const extracted = (extractor: ExtractorService) =>
    Effect.gen(function* () {
      const index = yield* ontology
      return yield* Effect.forEach(
        [...texts, ...texts].map((text, at) => ({ index: at, text, offset: at * 100 })),
        (chunk) =>
          Effect.gen(function* () {
            const { mentions } = yield* extractor.entities(chunk, index)
            return { mentions, facts: (yield* extractor.facts(chunk, mentions, index)).facts }
          }),
        { concurrency: 4 },
      )
    })

  it.live(
    "finds the same as without, whatever the number of threads",
    () =>
      Effect.gen(function* () {
        const alone = yield* extracted(BuiltIn.make({ examples }))
        assert.isAbove(alone.flatMap(({ facts }) => facts).length, 10)
        for (const size of [1, 3]) {
          const layer = PooledBuiltIn.layer({ examples }).pipe(Layer.provide(WorkerPool.layer({ size })))
          const pooled = yield* Effect.flatMap(Extractor, extracted).pipe(Effect.provide(layer))
          assert.deepStrictEqual(pooled, alone)
        }
      }),
    30_000,
  )
})
