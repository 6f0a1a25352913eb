/** Claims: which commands they take, how long they last, and what they allow. */

import { Commands, Journal } from "@detent/store"
import {
  claim,
  claimNames,
  command,
  completed,
  countsOf,
  enqueue,
  eventually,
  finish,
  freshName,
  stored,
  type Topic,
} from "@detent/store/testing/CommandKit"
import { commit, freshKey } from "@detent/store/testing/samples"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const names = (count: number) => Array.from({ length: count }, (_, index) => String(index))

export const claiming: Topic = (it) => {
  it.effect("113 a claim takes commands in order up to its limit; they are processing with one attempt more", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(...names(5).map((name) => command(queue, name)))
      assert.deepStrictEqual(yield* claimNames(queue, { worker: "me", limit: 3, millis: 50_000 }), ["0", "1", "2"])
      const { status, attempts, worker, claimedUntil = 0 } = yield* stored(`${queue}-0`)
      assert.deepStrictEqual([status, attempts, worker], ["processing", 1, "me"])
      assert.isAtMost(Math.abs(claimedUntil - (yield* Clock.currentTimeMillis) - 50_000), 20_000)
      assert.deepStrictEqual(yield* claimNames(queue), ["3", "4"])
      assert.deepStrictEqual(yield* claimNames(queue), [])
    }),
  )

  it.effect("113 of a hundred workers that claim at once, one gets each command", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(...names(50).map((name) => command(queue, name)))
      const claims = names(100).map((node) => claimNames(queue, { worker: `node-${node}`, limit: 3 }))
      const claimed = (yield* Effect.all(claims, { concurrency: "unbounded" })).flat()
      assert.deepStrictEqual(claimed.sort(), names(50).sort())
    }),
  )

  it.effect("113 higher priority goes first, then the order they were enqueued in, also among those that waited", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(
        command(queue, "low", { priority: -1 }),
        command(queue, "first"),
        command(queue, "late high", { priority: 5, delayMillis: 30 }),
        command(queue, "second"),
        command(queue, "high", { priority: 5 }),
      )
      yield* Effect.sleep(60)
      assert.deepStrictEqual(yield* claimNames(queue, { limit: 1 }), ["late high"])
      assert.deepStrictEqual(yield* claimNames(queue), ["high", "first", "second", "low"])
    }),
  )

  it.effect("113 a claim takes commands of its queues only", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(`${queue}2`, "b"), command(`${queue}3`, "c"))
      const { claimed } = yield* commands.exchange({
        worker: "worker",
        finished: [],
        wants: [
          { queue, limit: 10 },
          { queue: `${queue}3`, limit: 10 },
        ],
        claimMillis: 1000,
      })
      assert.deepStrictEqual(claimed.map((one) => one.queue).sort(), [queue, `${queue}3`])
    }),
  )

  it.effect("114 a command is not claimed before its time", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(
        command(queue, "delayed", { delayMillis: 1000 }),
        command(queue, "at", { runAt: (yield* Clock.currentTimeMillis) + 3_600_000 }),
      )
      const { claimed, next } = yield* commands.exchange({ worker: "w", finished: [], wants: [{ queue, limit: 9 }], claimMillis: 1000 })
      assert.deepStrictEqual(claimed, [])
      const until = next.get(queue) ?? Number.NaN
      assert.isTrue(until >= 0 && until <= 1000, `the next is due in ${until} ms`)
      assert.deepStrictEqual(yield* eventually(claimNames(queue), (found) => found.length > 0), ["delayed"])
      const { runAt } = yield* stored(`${queue}-at`)
      assert.isAtMost(Math.abs(runAt - (yield* Clock.currentTimeMillis) - 3_600_000), 60_000)
    }),
  )

  it.effect("116 a claim that is over can be claimed again, and counts as an attempt", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const commands = yield* Commands
      yield* enqueue(command(queue, "a"))
      yield* claim(queue, { worker: "dead", millis: 2_000 })
      assert.deepStrictEqual(yield* claimNames(queue), [])
      const again = yield* eventually(claim(queue, { worker: "alive" }), (found) => found.length > 0)
      assert.deepStrictEqual(
        again.map(({ attempts, claim: number }) => [attempts, number]),
        [[2, 2]],
      )
      yield* enqueue(command(queue, "b"))
      yield* claim(queue, { worker: "dead", millis: 1 })
      yield* Effect.sleep(20)
      assert.isAtLeast(yield* commands.releaseExpired, 1)
      assert.deepStrictEqual(yield* countsOf(queue), { processing: 1, pending: 1 })
    }),
  )

  it.effect("117 a worker that lost a command cannot finish, renew or release it", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"))
      const late = yield* claim(queue, { worker: "late", millis: 1 })
      const mine = yield* eventually(claim(queue, { worker: "mine" }), (found) => found.length > 0)
      for (const verdict of [completed, { _tag: "Failed", problem: "late" }, { _tag: "Released", delayMillis: 0 }] as const)
        assert.deepStrictEqual(yield* finish(verdict, late, "late"), [false])
      assert.deepStrictEqual(
        yield* commands.renew("late", late, 1000),
        late.map(({ number }) => number),
      )
      assert.strictEqual((yield* stored(`${queue}-a`)).worker, "mine")
      assert.deepStrictEqual(yield* finish(completed, mine, "mine"), [true])
      assert.deepStrictEqual(yield* finish(completed, late, "late"), [false])
    }),
  )

  it.effect("117 the same worker cannot by an older claim either", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"))
      const older = yield* claim(queue, { millis: 1 })
      const newer = yield* eventually(claim(queue), (found) => found.length > 0)
      assert.deepStrictEqual(yield* finish({ _tag: "Failed", problem: "older" }, older), [false])
      assert.deepStrictEqual(yield* finish(completed, newer), [true])
    }),
  )

  it.effect("121 a renewed claim lasts", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(queue, "b"))
      const claimed = yield* claim(queue, { millis: 600 })
      assert.deepStrictEqual(yield* commands.renew("worker", claimed.slice(0, 1), 60_000), [])
      assert.deepStrictEqual(yield* eventually(claimNames(queue, { worker: "other" }), (found) => found.length > 0), ["b"])
      assert.deepStrictEqual(yield* finish(completed, claimed), [true, false])
    }),
  )

  it.effect("an exchange repeated after a lost answer is not a refusal, and disown hands back what it had claimed", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(queue, "b"), command(queue, "c"))
      const [a, b] = yield* claim(queue, { worker: queue, limit: 2 })
      if (a === undefined || b === undefined) return assert.fail("two were to be claimed")
      assert.deepStrictEqual(yield* finish(completed, [a], queue), [true])
      assert.deepStrictEqual(yield* finish(completed, [a], queue), [true])
      assert.deepStrictEqual(yield* finish({ _tag: "Failed", problem: "other" }, [a], queue), [false], "but not as something else")
      yield* claim(queue, { worker: queue })
      assert.strictEqual(yield* commands.disown(queue, [b.number]), 1)
      assert.deepStrictEqual([(yield* stored(`${queue}-b`)).status, (yield* stored(`${queue}-c`)).status], ["processing", "pending"])
      assert.strictEqual((yield* stored(`${queue}-c`)).attempts, 0)
    }),
  )

  it.effect("127 ordered commands of an instance follow each other; other instances do not wait", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const queue = yield* freshName
      const [one, two] = [yield* freshKey, yield* freshKey]
      yield* journal.commit([commit(one, -1)])
      yield* journal.commit([commit(two, -1)])
      const ordered = (name: string, instance: typeof one) => command(queue, name, { instance, ordered: true })
      yield* enqueue(
        ordered("1a", one),
        ordered("1b", one),
        ordered("2a", two),
        ordered("1c", one),
        command(queue, "free", { instance: one }),
      )
      const first = yield* claim(queue)
      assert.deepStrictEqual(
        first.map(({ key }) => key.slice(queue.length + 1)),
        ["1a", "2a", "free"],
      )
      assert.deepStrictEqual(yield* claimNames(queue), [])
      yield* finish({ _tag: "Retry", problem: "not yet", delayMillis: 600 }, first.slice(0, 1))
      assert.deepStrictEqual(yield* claimNames(queue), [], "a command that is tried again keeps its turn")
      const again = yield* eventually(claim(queue), (found) => found.length > 0)
      assert.deepStrictEqual(
        again.map(({ key }) => key.slice(queue.length + 1)),
        ["1a"],
      )
      yield* finish(completed, again)
      const next = yield* claim(queue)
      assert.deepStrictEqual(
        next.map(({ key }) => key.slice(queue.length + 1)),
        ["1b"],
      )
      yield* finish({ _tag: "Failed", problem: "for good" }, next)
      assert.deepStrictEqual(yield* claimNames(queue), ["1c"], "a dead letter holds no other up")
    }),
  )
}
