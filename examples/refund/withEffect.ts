/** The refund with Effect. Run it: `npx node examples/refund/withEffect.ts refunds.db`. */
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Bank } from "./Bank.ts"
import { type BankUnavailable, E, Refund, upcasters } from "./Refund.ts"

export const refundWith = (bank: Bank) =>
  Refund.build({
    pay: ({ amount }, { key }) =>
      Effect.tryPromise({ try: (signal) => bank.pay(key, amount, signal), catch: (error) => error as BankUnavailable }),
  })

if (import.meta.main) {
  const Built = refundWith(new Bank())
  const main = Effect.gen(function* () {
    const engine = yield* Engine
    yield* engine.register(Built, { upcasters })
    const refund = yield* engine.ensure(Built, "refund-1", { order: "order-1", amount: 250, currency: "EUR" })
    if ((yield* refund.state)._tag === "AwaitingApproval") {
      yield* Console.log(yield* refund.ask(E.GetStatus()))
      yield* refund.send(E.Approve({ approvedBy: "Ada" }), { id: "approval-1" })
    }
    yield* Console.log(yield* refund.awaitFinal)
  })
  const store = SqliteStore.layer({ filename: process.argv[2] ?? "refunds.db" })
  await Effect.runPromise(main.pipe(Effect.provide(Engine.layer().pipe(Layer.provide(store)))))
}
