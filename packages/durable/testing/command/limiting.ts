/** Paused and limited queues, across workers. */

import { Commands } from "@detent/store"
import { claim, claimNames, command, completed, enqueue, eventually, finish, freshName, type Topic } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queues from "../../src/outbox/Queues.ts"

const many = (queue: string, count: number) => enqueue(...Array.from({ length: count }, (_, index) => command(queue, `${index}`)))

export const limiting: Topic = (it) => {
  it.effect("126 a paused queue gives nothing until it is resumed, and is listed", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* many(queue, 2)
      yield* Queues.pause(queue)
      assert.deepStrictEqual(yield* claimNames(queue), [])
      const listed = Effect.map(Queues.list, (queues) => queues.find((one) => one.queue === queue))
      assert.deepStrictEqual(yield* listed, { queue, paused: true, concurrency: undefined, rate: undefined, perGroup: undefined })
      yield* Queues.limit(queue, { concurrency: 5 })
      assert.deepStrictEqual(yield* listed, { queue, paused: true, concurrency: 5, rate: undefined, perGroup: undefined })
      yield* Queues.resume(queue)
      assert.deepStrictEqual(yield* listed, { queue, paused: false, concurrency: 5, rate: undefined, perGroup: undefined })
      assert.deepStrictEqual(yield* claimNames(queue), ["0", "1"])
    }),
  )

  it.effect("126 workers that want the same limited queues in different orders do not fail each other", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queues = [yield* freshName, yield* freshName, yield* freshName]
      for (const queue of queues) {
        yield* many(queue, 60)
        yield* Queues.limit(queue, { concurrency: 50, rate: { limit: 1000, interval: "1 second" } })
      }
      const wants = queues.map((queue) => ({ queue, limit: 1 }))
      const exchanges = Array.from({ length: 40 }, (_, node) =>
        commands.exchange({
          worker: `node-${node}`,
          finished: [],
          wants: node % 2 === 0 ? wants : wants.toReversed(),
          claimMillis: 60_000,
        }),
      )
      const claimed = (yield* Effect.all(exchanges, { concurrency: "unbounded" })).flatMap((exchange) => exchange.claimed)
      assert.strictEqual(claimed.length, 120)
    }),
  )

  it.effect("126 no more commands than its concurrency are processing, over all workers; those of a dead worker no longer count", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* many(queue, 20)
      yield* Queues.limit(queue, { concurrency: 3 })
      const all = yield* Effect.all(
        Array.from({ length: 10 }, (_, node) => claim(queue, { worker: `node-${node}`, limit: 2, millis: 400 })),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(all.flat().length, 3)
      const holder = all.findIndex((claimed) => claimed.length > 0)
      yield* finish(completed, all[holder]?.slice(0, 1) ?? [], `node-${holder}`)
      assert.strictEqual((yield* claim(queue, { worker: "next" })).length, 1)
      assert.strictEqual((yield* claim(queue, { worker: "next" })).length, 0)
      const freed = yield* eventually(claim(queue, { worker: "later", millis: 60_000 }), (found) => found.length > 0)
      assert.isAtMost(freed.length, 3)
      yield* Queues.limit(queue, { concurrency: undefined })
      assert.strictEqual((yield* claim(queue, { limit: 4 })).length, 4)
    }),
  )

  it.effect("126 no more commands than its rate begin within any interval, over all workers", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      const interval = 150
      yield* many(queue, 60)
      yield* Queues.limit(queue, { rate: { limit: 4, interval } })
      const starts: Array<readonly [from: number, until: number]> = []
      const node = (name: string) =>
        Effect.gen(function* () {
          for (;;) {
            const from = yield* Clock.currentTimeMillis
            const { claimed, next } = yield* commands.exchange({
              worker: name,
              finished: [],
              wants: [{ queue, limit: 3 }],
              claimMillis: 60_000,
            })
            const until = yield* Clock.currentTimeMillis
            for (const _ of claimed) starts.push([from, until])
            yield* Effect.sleep(Math.max(1, Math.min(20, next.get(queue) ?? 20)))
          }
        })
      yield* Effect.timeoutOption(Effect.all([node("a"), node("b"), node("c")], { concurrency: "unbounded" }), interval * 5)
      assert.isAtLeast(starts.length, 8)
      assert.isAtMost(starts.length, 4 * 7)
      for (const [, until] of starts) {
        // Within one interval for certain: it begins after the one ended, and ends before an interval after the other began.
        const within = starts.filter(([from, end]) => from >= until && end < until + interval - 30).length
        assert.isAtMost(within, 4)
      }
    }),
  )

  it.effect("126 limits below 1 and rates without an interval are refused", () =>
    Effect.gen(function* () {
      for (const limits of [
        { concurrency: 0 },
        { concurrency: 1.5 },
        { rate: { limit: 0, interval: 10 } },
        { rate: { limit: 1, interval: 0 } },
      ])
        assert.strictEqual((yield* Effect.exit(Queues.limit("any", limits)))._tag, "Failure")
    }),
  )
}
