/** Verdicts on claimed commands, dead letters, and purging. */

import { Commands } from "@detent/store"
import {
  alone,
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
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as DeadLetters from "../../src/DeadLetters.ts"
import * as Retention from "../../src/outbox/Retention.ts"

export const finishing: Topic = (it) => {
  it.effect("115 a retryable failure is pending at its retry time, a permanent one is failed", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(queue, "b"))
      const [a, b] = yield* claim(queue)
      if (a === undefined || b === undefined) return assert.fail("two were to be claimed")
      assert.deepStrictEqual(yield* finish({ _tag: "Retry", problem: "busy", delayMillis: 800 }, [a]), [true])
      assert.deepStrictEqual(yield* finish({ _tag: "Failed", problem: "no such account" }, [b]), [true])
      const [retried, failed] = [yield* stored(a.key), yield* stored(b.key)]
      assert.deepStrictEqual([retried.status, retried.problem, retried.attempts, retried.worker], ["pending", "busy", 1, undefined])
      assert.deepStrictEqual([failed.status, failed.problem, failed.attempts], ["failed", "no such account", 1])
      assert.isAtMost(Math.abs((failed.finishedAt ?? 0) - (yield* Clock.currentTimeMillis)), 60_000)
      assert.deepStrictEqual(yield* claimNames(queue), [])
      const again = yield* eventually(claim(queue), (found) => found.length > 0)
      assert.deepStrictEqual(
        again.map(({ key, attempts }) => [key, attempts]),
        [[a.key, 2]],
      )
    }),
  )

  it.effect("119 success is completed, already executed is skipped with its reason, released is pending without an attempt", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(queue, "b"), command(queue, "c"))
      const [a, b, c] = yield* claim(queue)
      if (a === undefined || b === undefined || c === undefined) return assert.fail("three were to be claimed")
      yield* finish(completed, [a])
      yield* finish({ _tag: "Skipped", reason: "seen before" }, [b])
      yield* finish({ _tag: "Released", delayMillis: 0 }, [c])
      assert.deepStrictEqual(yield* countsOf(queue), { completed: 1, skipped: 1, pending: 1 })
      assert.strictEqual((yield* stored(b.key)).problem, "seen before")
      assert.strictEqual((yield* stored(a.key)).worker, "worker", "the worker that executed it is kept")
      const { attempts, status } = yield* stored(c.key)
      assert.deepStrictEqual([attempts, status], [0, "pending"])
      assert.deepStrictEqual(
        (yield* claim(queue)).map((one) => [one.attempts, one.claim]),
        [[1, 2]],
      )
    }),
  )

  it.effect("one batch is finished and the next claimed in one call", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(queue, "b"), command(queue, "c"))
      const [a] = yield* claim(queue, { limit: 1 })
      if (a === undefined) return assert.fail("one was to be claimed")
      const { claimed, refused } = yield* commands.exchange({
        worker: "worker",
        finished: [
          { number: a.number, claim: a.claim, verdict: completed },
          { number: a.number + 1_000_000, claim: 1, verdict: completed },
        ],
        wants: [{ queue, limit: 2 }],
        claimMillis: 1000,
      })
      assert.deepStrictEqual(refused, [a.number + 1_000_000])
      assert.strictEqual(claimed.length, 2)
      assert.deepStrictEqual(yield* countsOf(queue), { completed: 1, processing: 2 })
    }),
  )

  it.effect("125 dead letters are listed and inspected, retried one by one, and skipped with a reason", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(command(queue, "a"), command(queue, "b"), command(queue, "c"), command(queue, "d"))
      yield* finish({ _tag: "Failed", problem: "card declined" }, yield* claim(queue, { limit: 3 }))
      const dead = yield* DeadLetters.list({ queue })
      assert.deepStrictEqual(
        dead.commands.map(({ key, problem }) => [key, problem]),
        [
          [`${queue}-a`, "card declined"],
          [`${queue}-b`, "card declined"],
          [`${queue}-c`, "card declined"],
        ],
      )
      assert.strictEqual(Option.getOrThrow(yield* DeadLetters.get(`${queue}-a`)).attempts, 1)
      assert.isTrue(yield* DeadLetters.retry(`${queue}-b`))
      assert.isFalse(yield* DeadLetters.retry(`${queue}-b`), "it has not failed any more")
      assert.isFalse(yield* DeadLetters.retry("unknown"))
      const retried = yield* stored(`${queue}-b`)
      assert.deepStrictEqual([retried.status, retried.attempts, retried.finishedAt], ["pending", 0, undefined])
      assert.isTrue(yield* DeadLetters.skip(`${queue}-c`, "paid by hand"))
      assert.isFalse(yield* DeadLetters.skip(`${queue}-c`, "again"))
      const { status, problem } = yield* stored(`${queue}-c`)
      assert.deepStrictEqual([status, problem], ["skipped", "paid by hand"])
      assert.isTrue(yield* DeadLetters.skip(`${queue}-d`, "not needed"), "one that still waits")
      assert.deepStrictEqual(yield* claimNames(queue), ["b"])
      assert.isFalse(yield* DeadLetters.skip(`${queue}-b`, "too late"), "one that is being executed")
      assert.deepStrictEqual(yield* countsOf(queue), { failed: 1, skipped: 2, processing: 1 })
    }),
  )

  it.effect("125 dead letters are retried by filter; a dry run changes nothing", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(...["a", "b", "c"].map((name) => command(queue, name, { slot: name === "c" ? "mail" : "charge" })))
      yield* enqueue(command(`${queue}-other`, "d", { slot: "charge" }))
      const failed = { _tag: "Failed", problem: "down" } as const
      yield* finish(failed, yield* claim(queue))
      yield* finish(failed, yield* claim(`${queue}-other`))
      assert.strictEqual(yield* DeadLetters.retryAll({ queue, slot: "charge" }, { dryRun: true }), 2)
      assert.deepStrictEqual(yield* countsOf(queue), { failed: 3 })
      assert.strictEqual(yield* DeadLetters.retryAll({ queue, slot: "charge" }), 2)
      assert.deepStrictEqual(yield* countsOf(queue), { failed: 1, pending: 2 })
      assert.deepStrictEqual(yield* countsOf(`${queue}-other`), { failed: 1 })
      assert.strictEqual(yield* DeadLetters.retryAll({ queue, slot: "charge" }), 0)
    }),
  )

  it.effect(
    "commands that ended long ago are purged in batches; dead letters only where they are named",
    () =>
      Effect.gen(function* () {
        const queue = yield* freshName
        yield* enqueue(...Array.from({ length: 12 }, (_, index) => command(queue, `${index}`)))
        yield* finish(completed, yield* claim(queue, { limit: 7 }))
        yield* finish({ _tag: "Failed", problem: "down" }, yield* claim(queue, { limit: 2 }))
        yield* finish({ _tag: "Skipped", reason: "seen" }, yield* claim(queue, { limit: 1 }))
        assert.strictEqual(yield* Retention.purge({ olderThan: "1 hour" }), 0)
        yield* Effect.sleep(10)
        assert.isAtLeast(yield* Retention.purge({ olderThan: 1, batch: 3 }), 8)
        assert.deepStrictEqual(yield* countsOf(queue), { failed: 2, pending: 2 })
        assert.isAtLeast(yield* Retention.purge({ olderThan: 1, statuses: ["failed"] }), 2)
        assert.deepStrictEqual(yield* countsOf(queue), { pending: 2 })
        assert.deepStrictEqual(
          (yield* enqueue(command(queue, "0"))).map(({ _tag }) => _tag),
          ["Enqueued"],
          "its key is forgotten",
        )
      }),
    alone,
  )

  it.effect(
    "118 counts agree with the list after ends that are reported twice, skips, retries and purges",
    () =>
      Effect.gen(function* () {
        const queue = yield* freshName
        const service = yield* Commands
        yield* enqueue(
          ...Array.from({ length: 8 }, (_, index) => command(queue, `${index}`)),
          command(queue, "later", { delayMillis: 60_000 }),
        )
        const agree = Effect.gen(function* () {
          const listed: Record<string, number> = {}
          for (const { status } of (yield* service.list({ queue }, 100)).commands) listed[status] = (listed[status] ?? 0) + 1
          const counted = yield* countsOf(queue)
          assert.deepStrictEqual(counted, listed)
          return counted
        })
        const done = yield* claim(queue, { limit: 3 })
        yield* finish(completed, done)
        yield* finish(completed, done)
        yield* finish({ _tag: "Failed", problem: "down" }, yield* claim(queue, { limit: 3 }))
        assert.deepStrictEqual(yield* agree, { completed: 3, failed: 3, pending: 3 })
        assert.isTrue(yield* service.skip(`${queue}-later`, "not wanted"))
        assert.isTrue(yield* service.skip(`${queue}-3`, "done by hand"))
        assert.isFalse(yield* service.skip(`${queue}-0`, "too late"))
        assert.strictEqual(yield* service.retry({ queue }), 2)
        assert.deepStrictEqual(yield* agree, { completed: 3, skipped: 2, pending: 4 })
        yield* finish(completed, yield* claim(queue, { limit: 1 }))
        yield* Effect.sleep(10)
        yield* Retention.purge({ olderThan: 1, statuses: ["skipped"] })
        assert.deepStrictEqual(yield* agree, { completed: 4, pending: 3 })
        yield* Retention.purge({ olderThan: 1 })
        assert.deepStrictEqual(yield* agree, { pending: 3 })
      }),
    alone,
  )

  it.effect("the backlog counts what is pending, delayed, processing and failed, and not what is done", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      yield* enqueue(...Array.from({ length: 5 }, (_, index) => command(queue, `${index}`)))
      yield* finish(completed, yield* claim(queue, { limit: 1 }))
      yield* finish({ _tag: "Failed", problem: "no" }, yield* claim(queue, { limit: 1 }))
      yield* finish({ _tag: "Skipped", reason: "seen" }, yield* claim(queue, { limit: 1 }))
      yield* claim(queue, { limit: 1 })
      yield* enqueue(command(queue, "later", { delayMillis: 60_000 }))
      const backlog = yield* Effect.flatMap(Commands, (service) => service.backlog)
      const counts = Object.fromEntries(backlog.filter((one) => one.queue === queue).map(({ status, count }) => [status, count]))
      assert.deepStrictEqual(counts, { failed: 1, pending: 2, processing: 1 })
    }),
  )
}
