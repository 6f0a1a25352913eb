/** Commands that share a key: unique while one is pending, debounced, throttled. */

import { Commands } from "@detent/store"
import { claim, claimNames, command, completed, enqueue, eventually, finish, freshName, type Topic } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { jobs } from "./Working.ts"

const nameIn = ({ parameters }: { readonly parameters: string }): string => JSON.parse(parameters).name

export const repeating: Topic = (it) => {
  it.effect("126 a key that is unique while pending is free again when a worker takes the command", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const send = jobs(queue).enqueue({ name: "report" }, { key: "report-7", unique: "while pending", group: "g" })
      const first = yield* send
      assert.isTrue(first.isNew)
      assert.deepStrictEqual(yield* send, { ...first, isNew: false })
      const [taken] = yield* claim(queue)
      assert.strictEqual(taken?.key, first.key)
      const second = yield* send
      assert.isTrue(second.isNew)
      assert.notStrictEqual(second.key, first.key)
      assert.deepStrictEqual(yield* send, { ...second, isNew: false })
      yield* finish(completed, taken === undefined ? [] : [taken])
      assert.deepStrictEqual(
        (yield* claim(queue)).map(({ key }) => key),
        [second.key],
      )
    }),
  )

  it.effect("126 callers that enqueue the same pending key at the same time store one command", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const send = jobs(queue).enqueue({ name: "report" }, { key: "one", unique: "while pending", delay: "1 hour" })
      const all = yield* Effect.all(
        Array.from({ length: 20 }, () => send),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(all.filter(({ isNew }) => isNew).length, 1)
      assert.strictEqual(new Set(all.map(({ number }) => number)).size, 1)
      assert.strictEqual(new Set(all.map(({ key }) => key)).size, 1)
    }),
  )

  it.effect("126 a skipped command frees its pending key", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const send = jobs(queue).enqueue({ name: "report" }, { key: "one", unique: "while pending" })
      const { key } = yield* send
      yield* (yield* Commands).skip(key, "not needed", queue)
      assert.isTrue((yield* send).isNew)
    }),
  )

  it.effect("126 a debounced command has the last payload, and waits from the last one on", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const Job = jobs(queue)
      const first = yield* Job.enqueue({ name: "1" }, { key: "page", debounce: "200 millis" })
      assert.isTrue(first.isNew)
      assert.deepStrictEqual(yield* Job.enqueue({ name: "2" }, { key: "page", debounce: "1 hour" }), { ...first, isNew: false })
      yield* Effect.sleep(250)
      assert.deepStrictEqual(yield* claim(queue), [])
      // Several in one statement: the last one counts.
      const last = ["3", "4", "5"].map((name) => ({ payload: { name }, key: "page", debounce: "50 millis" as const }))
      assert.deepStrictEqual(
        (yield* Job.enqueueAll(last)).map(({ number }) => number),
        [first.number, first.number, first.number],
      )
      const [claimed] = yield* eventually(claim(queue), (found) => found.length > 0)
      assert.strictEqual(claimed === undefined ? "" : nameIn(claimed), "5")
      assert.isTrue((yield* Job.enqueue({ name: "6" }, { key: "page", debounce: "1 hour" })).isNew)
    }),
  )

  it.effect("126 of throttled commands the first of each interval is stored", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const Job = jobs(queue)
      const send = (name: string, key = "sync") => Job.enqueue({ name }, { key, throttle: "1000 days" })
      const first = yield* send("1")
      assert.isTrue(first.isNew)
      assert.deepStrictEqual(yield* send("2"), { ...first, isNew: false })
      assert.isTrue((yield* send("3", "other")).isNew)
      assert.deepStrictEqual((yield* claim(queue)).map(nameIn), ["1", "3"])
      assert.isFalse((yield* send("4")).isNew)
    }),
  )

  it.effect("126 one command of a batch that repeats a pending key does not fail the others", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const outcomes = yield* enqueue(
        command(queue, "a", { pendingKey: "p" }),
        command(queue, "b", { pendingKey: "p" }),
        command(queue, "c"),
      )
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Enqueued", "Existing", "Enqueued"],
      )
      assert.deepStrictEqual(yield* claimNames(queue), ["a", "c"])
    }),
  )

  it.effect("126 ways to repeat a key that exclude each other, or lack a key or a duration, are refused", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      for (const options of [
        { unique: "while pending" },
        { debounce: "1 second" },
        { throttle: "1 second" },
        { key: "a", debounce: "1 second", throttle: "1 second" },
        { key: "a", debounce: "1 second", delay: "1 second" },
        { key: "a", debounce: 0 },
        { key: "a", throttle: Number.NaN },
        { key: "a", throttle: Number.POSITIVE_INFINITY },
        { key: "a", unique: "sometimes" as never },
      ] as const) {
        const error = yield* Effect.flip(jobs(queue).enqueue({ name: "a" }, options))
        assert.strictEqual(error._tag, "InvalidCommand")
      }
      assert.deepStrictEqual(yield* claim(queue), [])
    }),
  )
}
