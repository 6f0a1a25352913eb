import { DeadLetters } from "@detent/durable"
import { HandlerResult, openEngine } from "@detent/durable/promise"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({
  Open: { card: Schema.String },
  Charging: { card: Schema.String },
  Paid: { receipt: Schema.String },
  Refused: { card: Schema.String, reason: Schema.String },
})
const E = Event({ Pay: {}, Charged: { receipt: Schema.String }, Declined: { reason: Schema.String } })
// #region slots
class Declined extends Schema.TaggedError<Declined>()("Declined", { reason: Schema.String }) {}

const effects = Slot.Effects({
  charge: Slot.effect({ card: Schema.String }, { success: Schema.String, failure: Declined }),
  sendReceipt: { receipt: Schema.String },
})
// #endregion slots

// #region machine
const Payment = Machine.make({ name: "payment", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Charging, ({ state, effects }) => {
    effects.charge({ card: state.card }) // stored with the transition, executed after it
    return S.Charging.derive(state)
  })
  .on(S.Charging, E.Charged, S.Paid)
  .on(S.Charging, E.Declined, S.Refused)
  .enter(S.Paid, ({ state, effects }) => effects.sendReceipt({ receipt: state.receipt }), { requests: ["sendReceipt"] })
  .final(S.Paid)
  .commands({
    charge: {
      retry: RetryPolicy.exponential({ initialDelay: "10 millis", maxAttempts: 5 }),
      retryable: () => false, // a declined card stays declined
      onSuccess: (receipt) => E.Charged({ receipt }),
      onFailure: (error) => E.Declined({ reason: error._tag === "Declined" ? error.reason : error.problem }),
    },
    sendReceipt: { retry: RetryPolicy.none },
  })
  .build({
    charge: async ({ card }, { key }) => {
      if (card === "expired") throw new Declined({ reason: "the card has expired" })
      console.log(`charging ${card} under the key ${key}`)
      return "receipt-1"
    },
    sendReceipt: async () => HandlerResult.failForGood("the mail server refused the address"),
  })
// #endregion machine

// #region use
await using engine = await openEngine({ database: "memory", machines: [Payment] })

const refused = await engine.start(Payment, "payment-1", { card: "expired" })
await refused.send(E.Pay())
console.log(await refused.waitFor((state) => state._tag === "Refused"))

const paid = await engine.start(Payment, "payment-2", { card: "visa" })
await paid.send(E.Pay())
console.log(await paid.awaitFinal())
// #endregion use

// #region dead
let dead = await engine.runEffect(DeadLetters.list({ queue: "payment" }))
while (dead.commands.length === 0) dead = await engine.runEffect(DeadLetters.list({ queue: "payment" }))
for (const { key, slot, attempts, problem } of dead.commands) console.log(key, slot, attempts, problem)
await engine.runEffect(DeadLetters.skip("payment/payment-2/2/0", "the customer has the receipt on paper"))
// #endregion dead
