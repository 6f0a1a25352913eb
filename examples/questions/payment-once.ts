/**
 * How do I make a payment that must happen once? The transition requests the charge, and both are stored in one transaction. The worker passes
 * the key of the command to the payment processor, which charges once for each key, however often it is called.
 *
 * Run it: `npx node examples/questions/payment-once.ts`
 */
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

/** A payment processor that charges and then loses its first two answers, as after a broken connection. */
const charges = new Map<string, string>()
let requests = 0
const charge = async (key: string, total: number): Promise<string> => {
  requests++
  const receipt = charges.get(key) ?? `receipt-${charges.size + 1} for ${total}`
  charges.set(key, receipt)
  if (requests <= 2) throw new Error("the connection broke before the answer came")
  return receipt
}

const S = State({ Open: { total: Schema.Finite }, Charging: { total: Schema.Finite }, Paid: { receipt: Schema.String } })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
const effects = Slot.Effects({ charge: Slot.effect({ total: Schema.Finite }, { success: Schema.String }) })

const Payment = Machine.make({ name: "payment", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Charging, ({ state, effects }) => {
    effects.charge({ total: state.total })
    return S.Charging.derive(state)
  })
  .on(S.Charging, E.Charged, S.Paid)
  .final(S.Paid)
  .commands({
    charge: {
      retry: RetryPolicy.exponential({ initialDelay: "10 millis", maxAttempts: 5 }),
      onSuccess: (receipt) => E.Charged({ receipt }),
    },
  })
  .build({ charge: ({ total }, { key }) => charge(key, total) })

await using engine = await openEngine({ database: "memory", machines: [Payment] })
const payment = await engine.start(Payment, "payment-1", { total: 42 })
await payment.send(E.Pay(), { id: "webhook-77" })
await payment.send(E.Pay(), { id: "webhook-77" }) // the sender repeats the event: the same id gets the first answer
console.log(await payment.awaitFinal())
console.log(`asked ${requests} times, charged ${charges.size} time`)
