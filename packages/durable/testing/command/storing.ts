/** Enqueuing and lookup. */

import { Commands, Journal } from "@detent/store"
import {
  claim,
  claimNames,
  command,
  completed,
  countsOf,
  enqueue,
  finish,
  freshName,
  stored,
  type Topic,
} from "@detent/store/testing/CommandKit"
import { commit, freshKey } from "@detent/store/testing/samples"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

export const storing: Topic = (it, { inTransaction }) => {
  it.effect("110 an enqueued command is pending, with no attempts", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const [outcome] = yield* enqueue(command(queue, "a", { priority: 3, parameters: `{"to":"x","🙂":"\\u2028"}` }))
      const found = yield* stored(`${queue}-a`)
      const { number, enqueuedAt, runAt, ...rest } = found
      assert.deepStrictEqual(outcome, { _tag: "Enqueued", number })
      assert.isAtMost(Math.abs(enqueuedAt - (yield* Clock.currentTimeMillis)), 60_000)
      assert.strictEqual(runAt, enqueuedAt)
      assert.deepStrictEqual(rest, {
        key: `${queue}-a`,
        queue,
        slot: "work",
        parameters: `{"to":"x","🙂":"\\u2028"}`,
        instance: undefined,
        sequence: -1,
        status: "pending",
        priority: 3,
        ordered: false,
        group: undefined,
        attempts: 0,
        round: 0,
        worker: undefined,
        claimedUntil: undefined,
        problem: undefined,
        errors: [],
        finishedAt: undefined,
      })
    }),
  )

  it.effect("17 144 a key that a database would change, or a payload it cannot read back, is refused alone", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const journal = yield* Journal
      const large = "x".repeat((journal.maxBodyBytes ?? 0) + 1)
      const outcomes = yield* enqueue(
        command(queue, "a\ud800"),
        command(queue, "b"),
        command(queue, "c\u0000"),
        command(queue, "d", { parameters: large }),
        command(queue, "e"),
      )
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["PersistenceFailed", "Enqueued", "PersistenceFailed", "PersistenceFailed", "Enqueued"],
      )
      assert.deepStrictEqual(yield* claimNames(queue), ["b", "e"])
    }),
  )

  it.effect("111 the same key again is the first command: at once, later, and when that is over", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const first = command(queue, "a", { parameters: `"first"` })
      const again = { ...first, parameters: `"second"`, priority: 9 }
      const outcomes = yield* enqueue(first, again, command(queue, "b"))
      const numbers = outcomes.map((outcome) => (outcome._tag === "Enqueued" || outcome._tag === "Existing" ? outcome.number : -1))
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Enqueued", "Existing", "Enqueued"],
      )
      assert.strictEqual(numbers[0], numbers[1])
      const existing = { _tag: "Existing" as const, number: numbers[0] ?? -1 }
      assert.deepStrictEqual(yield* enqueue(again), [existing])
      yield* finish(completed, yield* claim(queue))
      assert.deepStrictEqual(yield* enqueue(again), [existing])
      assert.strictEqual((yield* stored(first.key)).parameters, `"first"`)
      assert.deepStrictEqual(yield* countsOf(queue), { completed: 2 })
    }),
  )

  it.effect("111 of a hundred callers that enqueue the same key at once, one stores it", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const one = enqueue(command(queue, "a"))
      const outcomes = (yield* Effect.all(
        Array.from({ length: 100 }, () => one),
        { concurrency: "unbounded" },
      )).flat()
      assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Enqueued").length, 1)
      assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Existing").length, 99)
      assert.deepStrictEqual(yield* countsOf(queue), { pending: 1 })
    }),
  )

  it.effect(
    "112 two commands requested in one transition are two rows with distinct keys, in the queue of their machine or their own",
    () =>
      Effect.gen(function* () {
        const commands = yield* Commands
        const journal = yield* Journal
        const key = yield* freshKey
        const requested = (index: number) => ({ key: `${key.id}/1/${index}`, slot: "mail", parameters: `${index}`, sequence: 1 })
        const place = { queue: `${key.machine}-own`, priority: 2, ordered: true }
        yield* journal.commit([commit(key, -1)])
        yield* journal.commit([commit(key, 0, { commands: [requested(0), { ...requested(1), ...place }] })])
        const found = yield* commands.ofInstance(key)
        assert.deepStrictEqual(
          found.map(({ key: one, queue, priority, ordered, instance, sequence, status }) => [
            one,
            queue,
            priority,
            ordered,
            instance,
            sequence,
            status,
          ]),
          [
            [`${key.id}/1/0`, key.machine, 0, false, key, 1, "pending"],
            [`${key.id}/1/1`, place.queue, 2, true, key, 1, "pending"],
          ],
        )
        const [first] = yield* claim(key.machine)
        assert.deepStrictEqual([first?.key, first?.instance, first?.sequence], [`${key.id}/1/0`, key, 1])
        yield* journal.commit([commit(key, 1, { commands: [{ ...requested(0), key: `${key.id}/2/0`, sequence: 2 }] })])
        const ofEvents = (from: number, through: number) =>
          Effect.map(commands.ofInstance(key, { sequences: { from, through } }), (some) => some.map((one) => one.key))
        assert.deepStrictEqual(yield* ofEvents(1, 1), [`${key.id}/1/0`, `${key.id}/1/1`])
        assert.deepStrictEqual(yield* ofEvents(2, 9), [`${key.id}/2/0`])
        assert.deepStrictEqual(yield* ofEvents(3, 9), [])
      }),
  )

  it.effect("118 lookup by key and by instance; a command of an instance that does not exist is refused alone", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const journal = yield* Journal
      const queue = yield* freshName
      const key = yield* freshKey
      yield* journal.commit([commit(key, -1)])
      const outcomes = yield* enqueue(
        command(queue, "a", { instance: key }),
        command(queue, "b", { instance: { machine: key.machine, id: "unknown" } }),
        command(queue, "c", { instance: key }),
      )
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Enqueued", "NoInstance", "Enqueued"],
      )
      assert.deepStrictEqual(
        (yield* commands.ofInstance(key)).map((found) => found.key),
        [`${queue}-a`, `${queue}-c`],
      )
      const all = yield* commands.ofInstance(key)
      const [first, last] = all.map(({ number }) => number)
      assert.deepStrictEqual(yield* commands.ofInstance(key, { limit: 1 }), all.slice(1))
      assert.deepStrictEqual(yield* commands.ofInstance(key, { limit: 1, before: last }), all.slice(0, 1))
      assert.deepStrictEqual(yield* commands.ofInstance(key, { keyPrefix: `${queue}-a` }), all.slice(0, 1))
      assert.deepStrictEqual(yield* commands.ofInstance(key, { keyPrefix: `${queue}-a`, before: first }), [])
      assert.isTrue(Option.isNone(yield* commands.get(`${queue}-b`)))
      assert.deepStrictEqual(yield* commands.ofInstance({ machine: key.machine, id: "unknown" }), [])
    }),
  )

  it.effect("118 lists in the order enqueued, in pages, by filter; counts by queue and status", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const queue = yield* freshName
      yield* enqueue(...Array.from({ length: 25 }, (_, index) => command(queue, `${index}`, { slot: index % 2 === 0 ? "even" : "odd" })))
      yield* enqueue(command(`${queue}-other`, "x"))
      const seen: Array<string> = []
      let after: number | undefined = 0
      while (after !== undefined) {
        const page: { readonly commands: ReadonlyArray<{ readonly key: string }>; readonly next: number | undefined } =
          yield* commands.list({ queue }, 10, after)
        seen.push(...page.commands.map(({ key }) => key))
        after = page.next
      }
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 25 }, (_, index) => `${queue}-${index}`),
      )
      yield* finish(completed, yield* claim(queue, { limit: 5 }))
      yield* claim(queue, { limit: 3 })
      const keys = (filter: Parameters<typeof commands.list>[0]) =>
        Effect.map(commands.list({ queue, ...filter }, 100), (page) => page.commands.map(({ key }) => key.slice(queue.length + 1)))
      assert.deepStrictEqual(yield* keys({ status: "completed" }), ["0", "1", "2", "3", "4"])
      assert.deepStrictEqual(yield* keys({ status: "processing", slot: "odd" }), ["5", "7"])
      assert.deepStrictEqual(yield* keys({ machine: "unknown" }), [])
      assert.deepStrictEqual(yield* keys({ enqueuedBefore: 1 }), [])
      assert.strictEqual((yield* keys({ enqueuedAfter: 1 })).length, 25)
      assert.deepStrictEqual(yield* countsOf(queue), { completed: 5, processing: 3, pending: 17 })
      assert.deepStrictEqual(yield* countsOf(`${queue}-other`), { pending: 1 })
    }),
  )

  if (inTransaction !== undefined) {
    it.effect("a command enqueued in a transaction of the caller is a part of it", () =>
      Effect.gen(function* () {
        const queue = yield* freshName
        const undone = inTransaction(
          Effect.gen(function* () {
            const [outcome] = yield* enqueue(command(queue, "a"))
            assert.strictEqual(outcome?._tag, "Enqueued")
            return yield* Effect.fail("changed my mind")
          }),
        )
        assert.isTrue((yield* Effect.exit(undone))._tag === "Failure")
        assert.deepStrictEqual(yield* countsOf(queue), {})
        const again = yield* inTransaction(enqueue(command(queue, "a"), command(queue, "b")))
        assert.deepStrictEqual(
          again.map(({ _tag }) => _tag),
          ["Enqueued", "Enqueued"],
        )
        assert.deepStrictEqual(yield* claimNames(queue), ["a", "b"])
      }),
    )
  }

  it.effect("a command that the store cannot take does not fail the others", () =>
    Effect.gen(function* () {
      const queue = yield* freshName
      const outcomes = yield* Effect.all([enqueue(command(queue, "a")), enqueue(command(queue, "\u0000")), enqueue(command(queue, "b"))], {
        concurrency: "unbounded",
      })
      const tags = outcomes.flat().map(({ _tag }) => _tag)
      assert.deepStrictEqual([tags[0], tags[2]], ["Enqueued", "Enqueued"])
      assert.include(["Enqueued", "PersistenceFailed"], tags[1])
    }),
  )
}
