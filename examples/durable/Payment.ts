/**
 * An order that waits for its payment, stored in a SQLite file: stop the process while the order waits, start it again, and the
 * order continues with its original deadline.
 *
 * Run it: `npx node examples/durable/Payment.ts orders.db`, twice.
 */
import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Event, Machine, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

export const S = State({
  Pending: { total: Schema.Finite },
  AwaitingPayment: { total: Schema.Finite },
  Paid: { total: Schema.Finite, transactionId: Schema.String },
  Cancelled: { reason: Schema.String },
})
export const E = Event({ RequestPayment: {}, Pay: { transactionId: Schema.String }, Cancel: { reason: Schema.String } })

export const Payment = Machine.make({ name: "payment", state: S, event: E, initial: S.Pending })
  .on(S.Pending, E.RequestPayment, S.AwaitingPayment)
  .on(S.AwaitingPayment, E.Pay, S.Paid)
  .on([S.Pending, S.AwaitingPayment], E.Cancel, S.Cancelled)
  .timeout(S.AwaitingPayment, "30 minutes", S.Cancelled, () => S.Cancelled({ reason: "not paid in time" }))
  .final(S.Paid, S.Cancelled)

/** The first run leaves the order waiting; the second finds it there and pays. */
const main = Effect.gen(function* () {
  const engine = yield* Engine
  const order = yield* engine.ensure(Payment, "order-123", { total: 42 })
  const { state, sequence } = yield* order.snapshot
  yield* Console.log(`order-123 is ${state._tag} after ${sequence} events`)
  switch (state._tag) {
    case "Pending":
      yield* order.send(E.RequestPayment())
      yield* Console.log("Payment requested. Run this again to pay, or wait half an hour.")
      break
    case "AwaitingPayment":
      // A webhook that is delivered twice has the same id: the second delivery gets the answer of the first.
      yield* order.send(E.Pay({ transactionId: "t-9" }), { id: "webhook-77" })
      yield* order.send(E.Pay({ transactionId: "t-9" }), { id: "webhook-77" })
      yield* Console.log("Paid, once.")
      break
    default:
      yield* Console.log("The order has ended. Delete the file to start over.")
  }
})

if (import.meta.main) {
  const filename = process.argv[2] ?? "orders.db"
  await Effect.runPromise(main.pipe(Effect.provide(Engine.layer().pipe(Layer.provide(SqliteStore.layer({ filename }))))))
}
