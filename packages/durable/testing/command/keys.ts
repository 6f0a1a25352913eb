/** Idempotency keys are unique within their queue. */

import { Commands } from "@detent/store"
import { command, countsOf, enqueue, eventually, freshName, stored, type Topic } from "@detent/store/testing/CommandKit"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as DeadLetters from "../../src/DeadLetters.ts"
import * as CommandQueue from "../../src/outbox/CommandQueue.ts"
import { jobs, startWorker } from "./Working.ts"

export const keys: Topic = (it) => {
  it.effect(
    "153 two queues take the same key: both commands are stored and executed, and each key again is the first one of its queue",
    () =>
      Effect.gen(function* () {
        const name = yield* freshName
        const [mails, invoices] = [jobs(`${name}-mails`), jobs(`${name}-invoices`)]
        const executed: Array<string> = []
        const record = (job: string) => Effect.sync(() => executed.push(job))
        const key = `${name}-order-7`
        const mail = yield* mails.enqueue({ name: "mail" }, { key })
        const invoice = yield* invoices.enqueue({ name: "invoice" }, { key })
        assert.deepStrictEqual([mail.isNew, invoice.isNew], [true, true])
        assert.notStrictEqual(mail.number, invoice.number)
        yield* startWorker(mails, record)
        yield* startWorker(invoices, record)
        for (const queue of [mails, invoices]) yield* eventually(countsOf(queue.name), ({ completed }) => completed === 1)
        assert.deepStrictEqual(executed.toSorted(), ["invoice", "mail"])
        assert.deepStrictEqual(yield* mails.enqueue({ name: "again" }, { key }), { ...mail, isNew: false })
        assert.deepStrictEqual(yield* invoices.enqueue({ name: "again" }, { key }), { ...invoice, isNew: false })
      }),
  )

  it.effect("143 a key that is not a string, and a payload that holds itself, are refused with what is wrong", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const queue = CommandQueue.make(name, { payload: Schema.Unknown })
      const cyclic: { self?: unknown } = {}
      cyclic.self = cyclic
      const [byKey, byPayload] = [
        yield* Effect.flip(queue.enqueue("a", { key: 7 as unknown as string })),
        yield* Effect.flip(queue.enqueue(cyclic, { key: "b" })),
      ]
      assert.strictEqual(byKey.message, `queue ${name}: 7 cannot be enqueued: its key is of type number; give it a string`)
      assert.match(byPayload.message, new RegExp(`^queue ${name}: b cannot be enqueued: its payload .*$`, "s"))
      assert.deepStrictEqual([byKey._tag, byPayload._tag], ["InvalidCommand", "InvalidCommand"])
      const anything = CommandQueue.make(name, { payload: Schema.Struct({ held: Schema.Any }) })
      for (const held of [new Map(), { call: () => 1 }, [undefined], Number.NaN, undefined]) {
        const refused = yield* Effect.flip(anything.enqueue({ held }, { key: "c" }))
        assert.match(refused.message, /its payload cannot be written as JSON: its field held holds .*, which JSON would lose/)
      }
      assert.deepStrictEqual(yield* countsOf(name), {})
    }),
  )

  it.effect("153 also in one batch, and for a worker that waits for them", () =>
    Effect.gen(function* () {
      const name = yield* freshName
      const [one, two] = [jobs(`${name}-one`), jobs(`${name}-two`)]
      const executed: Array<string> = []
      for (const queue of [one, two]) yield* startWorker(queue, (job) => Effect.sync(() => executed.push(`${queue.name} ${job}`)))
      const key = `${name}-key`
      const outcomes = yield* enqueue(
        command(one.name, "", { key, slot: "job", parameters: JSON.stringify({ name: "a" }) }),
        command(two.name, "", { key, slot: "job", parameters: JSON.stringify({ name: "b" }) }),
        command(one.name, "", { key, slot: "job", parameters: JSON.stringify({ name: "c" }) }),
      )
      assert.deepStrictEqual(
        outcomes.map(({ _tag }) => _tag),
        ["Enqueued", "Enqueued", "Existing"],
      )
      yield* one.enqueue({ name: "d" }, { key: `${key}-next` })
      yield* two.enqueue({ name: "e" }, { key: `${key}-next` })
      yield* eventually(
        Effect.sync(() => executed.length),
        (count) => count === 4,
      )
      assert.deepStrictEqual(executed.toSorted(), [`${one.name} a`, `${one.name} d`, `${two.name} b`, `${two.name} e`])
    }),
  )

  it.effect("153 lookup, retry and skip of a key can name its queue", () =>
    Effect.gen(function* () {
      const commands = yield* Commands
      const name = yield* freshName
      const queues = [`${name}-1`, `${name}-2`]
      const key = `${name}-key`
      yield* enqueue(...queues.map((queue) => command(queue, "", { key })))
      const [first, second] = yield* Effect.forEach(queues, (queue) => Effect.map(commands.get(key, queue), Option.getOrThrow))
      assert.deepStrictEqual([first?.queue, second?.queue], queues)
      assert.strictEqual((yield* stored(key)).number, first?.number)
      assert.isTrue(Option.isNone(yield* commands.get(key, "another queue")))
      assert.isTrue(yield* DeadLetters.skip(key, "not needed", { queue: `${name}-2` }))
      const statuses = yield* Effect.forEach(queues, (queue) => Effect.map(commands.get(key, queue), Option.getOrThrow))
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ["pending", "skipped"],
      )
      assert.isFalse(yield* DeadLetters.retry(key, { queue: `${name}-2` }))
    }),
  )
}
