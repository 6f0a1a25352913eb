import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { Commands, DeadLetters, Engine, MemoryStore } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { startCardProcessor } from "../durable/CardProcessor.ts"
import { chargeAt, E, Order, S, Shop } from "../durable/OrderOutbox.ts"

const run = promisify(execFile)

/** A shop that records its calls, in front of a processor that loses its first answers. */
const shopWith = (lostAnswers: number) =>
  Effect.gen(function* () {
    const processor = yield* startCardProcessor(lostAnswers)
    const mails: Array<string> = []
    const shipped: Array<string> = []
    const shop = Layer.succeed(Shop, {
      charge: chargeAt(processor.url),
      mail: (_, to, text) => Effect.sync(() => mails.push(`${to}: ${text}`)),
      ship: (_, orderId) => Effect.sync(() => shipped.push(orderId)),
    })
    return { processor, mails, shipped, shop }
  })

const onMemory = Engine.layer().pipe(Layer.provideMerge(MemoryStore.layer))

const order = (card: string) => S.Open({ customer: "ada", card, total: 42 })

/** Waits until every command has ended. */
const allOver = Effect.gen(function* () {
  const commands = yield* Commands
  for (let waited = 0; waited < 400; waited++) {
    const open = (yield* commands.counts).filter(({ status }) => status === "pending" || status === "processing")
    if (open.length === 0) return
    yield* Effect.sleep(10)
  }
})

describe("an order with an outbox", () => {
  it.live("is charged once though the processor loses its answers, and gets the receipt", () =>
    Effect.gen(function* () {
      const { processor, mails, shipped, shop } = yield* shopWith(2)
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const one = yield* engine.start(Order, "order-1", order("4242"))
        yield* one.send(E.Pay())
        expect(yield* one.waitFor(({ _tag }) => _tag === "Paid")).toMatchObject({ receipt: "receipt-1" })
        yield* one.send(E.Ship())
        yield* allOver
      }).pipe(Effect.provide(Layer.mergeAll(onMemory, shop)))
      expect(processor.requests()).toBe(3)
      expect([...processor.charges]).toEqual([
        [expect.stringMatching(/^[0-9a-f]{12}\/order\/order-1\/1\/0$/), { card: "4242", total: 42, receipt: "receipt-1" }],
      ])
      expect(mails).toEqual(["ada: paid, receipt-1", "ada: on its way"])
      expect(shipped).toEqual(["receipt-1"])
    }),
  )

  it.live("is declined for good by a card without funds, and asks no second time", () =>
    Effect.gen(function* () {
      const { processor, mails, shop } = yield* shopWith(0)
      yield* Effect.gen(function* () {
        const engine = yield* Engine
        const one = yield* engine.start(Order, "order-1", order("0000"))
        yield* one.send(E.Pay())
        expect(yield* one.awaitFinal).toEqual(S.Declined({ reason: "no funds" }))
        yield* allOver
        expect((yield* DeadLetters.list()).commands).toEqual([])
        const { commands } = yield* Effect.flatMap(Commands, (service) => service.list({ status: "handled" }, 10))
        expect(commands.map(({ slot, attempts, problem }) => [slot, attempts, problem])).toEqual([
          ["chargeCard", 1, `{"_tag":"CardDeclined","reason":"no funds"}`],
        ])
      }).pipe(Effect.provide(Layer.mergeAll(onMemory, shop)))
      expect(processor.requests()).toBe(1)
      expect(mails).toEqual(["ada: not paid: no funds"])
    }),
  )

  it("runs", async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, "..", "durable", "OrderOutbox.ts")])
    expect(stdout).toContain("charged 1 time, asked 3 times")
    expect(stdout).toContain("mail to ada@example.org: on its way")
    expect(stdout).toContain("| ✅ Completed | 4 |")
  })
})
