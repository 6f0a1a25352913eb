/** Commands of groups: turns, and limits of each group, across workers. */

import { type ClaimedCommand, Commands, type NewCommand } from "@detent/store"
import {
  claim,
  claimNames,
  command,
  completed,
  enqueue,
  eventually,
  finish,
  freshName,
  stored,
  type Topic,
} from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Queues from "../../src/outbox/Queues.ts"
import { jobs } from "./Working.ts"

const of = (queue: string, group: string, count: number, fields: Partial<NewCommand> = {}) =>
  enqueue(...Array.from({ length: count }, (_, index) => command(queue, `${group}${index}`, { group, ...fields })))

/** How many commands of each group there are. */
const counted = (claimed: ReadonlyArray<ClaimedCommand>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { group = "" } of claimed) counts[group] = (counts[group] ?? 0) + 1
  return counts
}

export const groups: Topic = (it) => {
  it.effect("126 groups take turns: many commands of one do not delay those of another", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* of(queue, "large", 300)
      for (const small of ["a", "m", "z"]) yield* of(queue, small, 2)
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 8 })), { a: 2, large: 2, m: 2, z: 2 })
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 8 })), { large: 8 })
      yield* of(queue, "late", 1)
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 4 })), { large: 2, late: 1 })
      assert.strictEqual((yield* stored(`${queue}-late0`)).group, "late")
    }),
  )

  it.effect("126 a claim of one command goes round the groups, those without a group included", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      for (const group of ["b", "a", "c"]) yield* of(queue, group, 2)
      yield* enqueue(command(queue, "x0"), command(queue, "x1"))
      const names: Array<string> = []
      for (let turn = 0; turn < 8; turn++) names.push(...(yield* claimNames(queue, { limit: 1 })))
      assert.deepStrictEqual(names, ["a0", "b0", "c0", "x0", "a1", "b1", "c1", "x1"])
      assert.deepStrictEqual(yield* claimNames(queue), [])
    }),
  )

  it.effect("126 commands of a group are claimed by priority, then in order; delayed ones when they are due", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(
        command(queue, "a", { group: "g" }),
        command(queue, "later", { group: "g", delayMillis: 60_000 }),
        command(queue, "urgent", { group: "g", priority: 5 }),
      )
      assert.deepStrictEqual(yield* claimNames(queue), ["urgent", "a"])
      yield* enqueue(command(queue, "soon", { group: "g", delayMillis: 20 }))
      assert.deepStrictEqual(yield* eventually(claimNames(queue), (names) => names.length > 0), ["soon"])
    }),
  )

  it.effect(
    "126 no more commands of a group than its concurrency are processing, over all workers; those of a dead worker no longer count",
    () =>
      Effect.gen(function* () {
        const queue = yield* freshName
        yield* Queues.limit(queue, { perGroup: { concurrency: 2 } })
        for (const group of ["a", "b"]) yield* of(queue, group, 10)
        const all = yield* Effect.all(
          Array.from({ length: 6 }, (_, node) => claim(queue, { worker: `node-${node}`, limit: 3, millis: 400 })),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(counted(all.flat()), { a: 2, b: 2 })
        assert.deepStrictEqual(yield* claim(queue), [])
        const holder = all.findIndex((claimed) => claimed.length > 0)
        const first = all[holder]?.slice(0, 1) ?? []
        yield* finish(completed, first, `node-${holder}`)
        assert.deepStrictEqual(counted(yield* claim(queue, { worker: "next" })), counted(first))
        const freed = yield* eventually(claim(queue, { worker: "later", millis: 60_000 }), (found) => found.length > 0)
        assert.isAtMost(freed.length, 4)
        yield* Queues.limit(queue, { perGroup: undefined })
        assert.strictEqual((yield* claim(queue, { limit: 5 })).length, 5)
      }),
  )

  it.effect("126 a limit that is set while commands run counts them; a group's own limits replace those of all groups", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      for (const group of ["a", "b", "c"]) yield* of(queue, group, 10)
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 6 })), { a: 2, b: 2, c: 2 })
      yield* Queues.limit(queue, { perGroup: { concurrency: 3 } })
      yield* Queues.limitGroup(queue, "b", { concurrency: 5 })
      yield* Queues.limitGroup(queue, "c", { concurrency: 1 })
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 20 })), { a: 1, b: 3 })
      yield* Queues.limitGroup(queue, "c", undefined)
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 20 })), { c: 1 })
    }),
  )

  it.effect("126 the limits of the queue hold beside those of its groups", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* Queues.limit(queue, { concurrency: 5, perGroup: { concurrency: 4 } })
      for (const group of ["a", "b"]) yield* of(queue, group, 10)
      const claimed = yield* claim(queue, { limit: 20 })
      assert.strictEqual(claimed.length, 5)
      assert.deepStrictEqual(yield* claim(queue, { limit: 20 }), [])
      yield* finish(completed, claimed)
      assert.strictEqual((yield* claim(queue, { limit: 20 })).length, 5)
    }),
  )

  it.effect("126 no more commands of a group than its rate begin within any interval, over all workers", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      const interval = 150
      for (const group of ["a", "b"]) yield* of(queue, group, 40)
      yield* Queues.limit(queue, { perGroup: { rate: { limit: 3, interval } } })
      const starts: Array<{ readonly group: string | undefined; readonly from: number; readonly until: number }> = []
      const node = (worker: string) =>
        Effect.gen(function* () {
          for (;;) {
            const from = yield* Clock.currentTimeMillis
            const { claimed, next } = yield* commands.exchange({
              worker,
              finished: [],
              wants: [{ queue, limit: 5 }],
              claimMillis: 60_000,
            })
            const until = yield* Clock.currentTimeMillis
            for (const { group } of claimed) starts.push({ group, from, until })
            yield* Effect.sleep(Math.max(1, Math.min(20, next.get(queue) ?? 20)))
          }
        })
      yield* Effect.timeoutOption(Effect.all([node("a"), node("b"), node("c")], { concurrency: "unbounded" }), interval * 5)
      for (const group of ["a", "b"]) {
        const own = starts.filter((start) => start.group === group)
        assert.isAtLeast(own.length, 6)
        assert.isAtMost(own.length, 3 * 7)
        for (const { until } of own) {
          // Within one interval for certain: it begins after the one ended, and ends before an interval after the other began.
          const within = own.filter((other) => other.from >= until && other.until < until + interval - 30).length
          assert.isAtMost(within, 3)
        }
      }
    }),
  )

  it.effect("126 a group at its limit holds no other up, and the answer says when to ask again", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* Queues.limitGroup(queue, "full", { rate: { limit: 1, interval: "1 hour" } })
      yield* of(queue, "full", 50)
      yield* of(queue, "free", 5)
      assert.deepStrictEqual(counted(yield* claim(queue, { limit: 20 })), { free: 5, full: 1 })
      const { claimed, next, busy } = yield* commands.exchange({
        worker: "w",
        finished: [],
        wants: [{ queue, limit: 20 }],
        claimMillis: 60_000,
      })
      assert.deepStrictEqual(claimed, [])
      // Until the rate allows another, or the claims of a worker that died would end.
      assert.isAtLeast(next.get(queue) ?? 0, 50_000)
      assert.isFalse(busy.has(queue))
      yield* Queues.limitGroup(queue, "full", { concurrency: 1 })
      const held = yield* commands.exchange({ worker: "w", finished: [], wants: [{ queue, limit: 20 }], claimMillis: 60_000 })
      assert.deepStrictEqual(held.claimed, [])
      assert.isTrue(held.busy.has(queue))
    }),
  )

  it.effect("126 groups are listed by name, with their commands and their own limits", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* of(queue, "b", 3)
      yield* of(queue, "a", 2)
      yield* Queues.limitGroup(queue, "c", { concurrency: 2, rate: { limit: 5, interval: "1 minute" } })
      yield* claim(queue, { limit: 1 })
      const own = { concurrency: 2, rate: { limit: 5, intervalMillis: 60_000 } }
      assert.deepStrictEqual(yield* Queues.groups(queue), [
        { group: "a", pending: 1, running: 1, own: undefined },
        { group: "b", pending: 3, running: 0, own: undefined },
        { group: "c", pending: 0, running: 0, own },
      ])
      assert.deepStrictEqual(
        (yield* Queues.groups(queue, { limit: 1, after: "a" })).map(({ group }) => group),
        ["b"],
      )
      const listed = (yield* Queues.list).find((one) => one.queue === queue)
      assert.strictEqual(listed?.perGroup, undefined)
      yield* Queues.limit(queue, { perGroup: { concurrency: 7 } })
      assert.deepStrictEqual((yield* Queues.list).find((one) => one.queue === queue)?.perGroup, { concurrency: 7, rate: undefined })
    }),
  )

  it.effect("126 limits of groups below 1, groups without a name and groups of 10 MB are refused, and nothing is stored", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      for (const limits of [{ concurrency: 0 }, { rate: { limit: 0, interval: 10 } }, { rate: { limit: 1, interval: 0 } }]) {
        assert.strictEqual((yield* Effect.exit(Queues.limit(queue, { perGroup: limits })))._tag, "Failure")
        assert.strictEqual((yield* Effect.exit(Queues.limitGroup(queue, "a", limits)))._tag, "Failure")
      }
      const huge = "x".repeat(10_000_000)
      assert.strictEqual((yield* Effect.exit(Queues.limitGroup(queue, huge, { concurrency: 1 })))._tag, "Failure")
      for (const group of ["", huge, "\u0000", "\ud800"]) {
        const error = yield* Effect.flip(jobs(queue).enqueue({ name: "a" }, { group }))
        assert.strictEqual(error._tag, "InvalidCommand")
        assert.include(error.message, "group")
        assert.isBelow(error.message.length, 1000)
        const [outcome] = yield* enqueue(command(queue, "a", { group }))
        assert.strictEqual(outcome?._tag, "PersistenceFailed")
      }
      assert.deepStrictEqual(yield* claim(queue), [])
      assert.isUndefined((yield* Queues.list).find((one) => one.queue === queue))
    }),
  )
}
