/** The batcher: what goes out together, and how each item ends. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Batcher, type BatcherOptions, makeBatcher } from "../../src/runtime/Batcher.ts"

type Options = Partial<BatcherOptions<number, number, string, number>>

/** Doubles numbers, notes the batches, and holds each batch back until `open` is called. */
const doubling = (options: Options = {}) => {
  const batches: Array<ReadonlyArray<number>> = []
  const gates: Array<Deferred.Deferred<void>> = []
  const fibers: Array<Fiber.Fiber<void>> = []
  const batcher = new Batcher<number, number, string>({
    run: (effect) => fibers.push(Effect.runFork(effect)),
    limit: 3,
    prepare: (item) => item,
    perform: (items) => {
      batches.push(items)
      const gate = Deferred.makeUnsafe<void>()
      gates.push(gate)
      return Effect.as(
        Deferred.await(gate),
        items.map((item) => Exit.succeed(item * 2)),
      )
    },
    ...options,
  })
  const settle = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })
  return {
    batcher,
    batches,
    fibers,
    /** Lets the oldest batch that is held back end. */
    open: () =>
      Effect.suspend(() => {
        const gate = gates.shift()
        if (gate === undefined) throw new Error("no batch is in flight")
        return Effect.andThen(Deferred.done(gate, Exit.void), settle)
      }),
    settle,
  }
}

describe("Batcher", () => {
  it.live("performs what is added in one turn together, and what comes meanwhile in the next batch", () =>
    Effect.gen(function* () {
      const { batcher, batches, open, settle } = doubling()
      const first = yield* Effect.forkChild(
        Effect.all(
          [1, 2].map((item) => batcher.submit(item)),
          { concurrency: 2 },
        ),
      )
      yield* settle
      const later = yield* Effect.forkChild(
        Effect.all(
          [3, 4].map((item) => batcher.submit(item)),
          { concurrency: 2 },
        ),
      )
      yield* settle
      assert.deepStrictEqual(batches, [[1, 2]])
      yield* open()
      assert.deepStrictEqual(batches, [
        [1, 2],
        [3, 4],
      ])
      yield* open()
      assert.deepStrictEqual(
        [yield* Fiber.join(first), yield* Fiber.join(later)],
        [
          [2, 4],
          [6, 8],
        ],
      )
    }),
  )

  it.live("keeps batches within the limit, in the order of the items; a larger item goes alone", () =>
    Effect.gen(function* () {
      const perform = (items: ReadonlyArray<number>) =>
        Effect.sync(() => {
          batches.push(items)
          return items.map((item) => Exit.succeed(item))
        })
      const batches: Array<ReadonlyArray<number>> = []
      const { batcher } = doubling({ limit: 10, sizeOf: (item) => item, perform })
      yield* Effect.all(
        [4, 6, 1, 25, 2, 3].map((item) => batcher.submit(item)),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(batches, [[4, 6], [1], [25], [2, 3]])
    }),
  )

  it.live("an item whose preparation throws dies alone", () =>
    Effect.gen(function* () {
      const prepare = (item: number) => {
        if (item === 2) throw new Error("two cannot be prepared")
        return item
      }
      const { batcher, batches, open, settle } = doubling({ prepare })
      const exits = yield* Effect.forkChild(
        Effect.all(
          [1, 2, 3].map((item) => Effect.exit(batcher.submit(item))),
          { concurrency: "unbounded" },
        ),
      )
      yield* settle
      yield* open()
      const [one, two, three] = yield* Fiber.join(exits)
      assert.deepStrictEqual([one, three], [Exit.succeed(2), Exit.succeed(6)])
      assert.deepStrictEqual(two, Exit.die(new Error("two cannot be prepared")))
      assert.deepStrictEqual(batches, [[1, 3]])
    }),
  )

  it.live("a batch that fails or throws fails its own items, and the next is performed", () =>
    Effect.gen(function* () {
      let attempts = 0
      const perform = (items: ReadonlyArray<number>): Effect.Effect<ReadonlyArray<Exit.Exit<number, string>>, string> => {
        attempts++
        if (attempts === 1) return Effect.fail("the store is away")
        if (attempts === 2) throw new Error("defect")
        return Effect.succeed(items.map((item) => (item === 3 ? Exit.fail("not three") : Exit.succeed(item))))
      }
      const { batcher } = doubling({ perform })
      assert.deepStrictEqual(yield* Effect.exit(batcher.submit(1)), Exit.fail("the store is away"))
      assert.deepStrictEqual(yield* Effect.exit(batcher.submit(2)), Exit.die(new Error("defect")))
      const each = [3, 4].map((item) => Effect.exit(batcher.submit(item)))
      assert.deepStrictEqual(yield* Effect.all(each, { concurrency: 2 }), [Exit.fail("not three"), Exit.succeed(4)])
    }),
  )

  it.live("an item for which its batch has no exit dies, and a caller that throws keeps no other from its exit", () =>
    Effect.gen(function* () {
      const { batcher } = doubling({ perform: () => Effect.succeed([Exit.succeed(1), Exit.succeed(2)]) })
      const exits: Array<Exit.Exit<number, string>> = []
      batcher.add(1, () => {
        throw new Error("a caller's own fault")
      })
      batcher.add(2, (exit) => exits.push(exit))
      batcher.add(3, (exit) => exits.push(exit))
      while (exits.length < 2) yield* Effect.yieldNow
      assert.deepStrictEqual(exits, [Exit.succeed(2), Exit.die(new Error("its batch has no exit for it"))])
    }),
  )

  it.live("an item whose caller has left is performed all the same", () =>
    Effect.gen(function* () {
      const { batcher, batches, open, settle } = doubling()
      const caller = yield* Effect.forkChild(batcher.submit(7), { startImmediately: true })
      yield* Fiber.interrupt(caller)
      yield* settle
      yield* open()
      assert.deepStrictEqual(batches, [[7]])
    }),
  )

  it.live("closing completes what was added and refuses what comes later", () =>
    Effect.gen(function* () {
      const { batcher, open, settle } = doubling({ closed: () => Exit.fail("closed") })
      const added = yield* Effect.forkChild(
        Effect.all(
          [1, 2].map((item) => batcher.submit(item)),
          { concurrency: 2 },
        ),
      )
      yield* settle
      const closing = yield* Effect.forkChild(batcher.close)
      yield* settle
      assert.deepStrictEqual(yield* Effect.exit(batcher.submit(3)), Exit.fail("closed"))
      assert.isUndefined(closing.pollUnsafe(), "it was closed before its items were completed")
      yield* open()
      yield* Fiber.join(closing)
      assert.deepStrictEqual(yield* Fiber.join(added), [2, 4])
      assert.deepStrictEqual(yield* Effect.exit(batcher.submit(3)), Exit.fail("closed"))
      yield* batcher.close
    }),
  )

  it.live("items are interrupted with the fiber that performs them, in flight or waiting; the next one starts another", () =>
    Effect.gen(function* () {
      const { batcher, fibers, open, settle } = doubling({ limit: 1 })
      const exits: Array<string> = []
      const note = (exit: Exit.Exit<number, string>) =>
        exits.push(Exit.isFailure(exit) ? String(exit.cause.reasons[0]?._tag) : String(exit.value))
      batcher.add(1, note)
      batcher.add(2, note)
      yield* settle
      yield* Effect.forEach(fibers, Fiber.interrupt)
      assert.deepStrictEqual(exits, ["Interrupt", "Interrupt"])
      batcher.add(3, note)
      yield* settle
      yield* open()
      yield* open()
      assert.deepStrictEqual(exits, ["Interrupt", "Interrupt", "6"])
    }),
  )

  it.live("one of a scope completes its items before the scope ends", () =>
    Effect.gen(function* () {
      const completed: Array<number> = []
      const adding = Effect.gen(function* () {
        const batcher = yield* makeBatcher<number>({
          limit: 2,
          perform: (items) =>
            Effect.as(
              Effect.sleep(5),
              items.map((item) => {
                completed.push(item)
                return Exit.void
              }),
            ),
        })
        for (const item of [1, 2, 3]) batcher.add(item)
      })
      yield* Effect.scoped(adding)
      assert.deepStrictEqual(completed, [1, 2, 3])
    }),
  )
})
