/** The order of the demo: a durable machine with a payment, a deadline and a mail, written with async functions. */
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const order = { customer: Schema.String, item: Schema.String, total: Schema.Finite }

export const S = State({
  Placed: order,
  Charging: order,
  Paid: { ...order, receipt: Schema.String },
  Shipped: { ...order, receipt: Schema.String, tracking: Schema.String },
  Cancelled: { ...order, reason: Schema.String },
})

export const E = Event({
  Pay: {},
  Charged: { receipt: Schema.String },
  Ship: { tracking: Schema.String },
  Cancel: { reason: Schema.String },
})

const effects = Slot.Effects({
  chargeCard: Slot.effect({ customer: Schema.String, amount: Schema.Finite }, { success: Schema.String }),
  sendMail: { to: Schema.String, text: Schema.String },
})

/** Short, so that the demo can show that it passes. */
const paymentSeconds = 5

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Placed })
  .on(
    S.Placed,
    E.Pay,
    S.Charging,
    ({ state, effects }) => {
      effects.chargeCard({ customer: state.customer, amount: state.total })
      return S.Charging.derive(state)
    },
    { requests: ["chargeCard"] },
  )
  .on(S.Charging, E.Charged, S.Paid)
  .on(S.Paid, E.Ship, S.Shipped)
  .on([S.Placed, S.Paid], E.Cancel, S.Cancelled)
  .timeout(
    S.Placed,
    `${paymentSeconds} seconds`,
    S.Cancelled,
    ({ state }) => S.Cancelled.derive(state, { reason: `not paid within ${paymentSeconds} seconds` }),
    { name: "payment deadline" },
  )
  .enter(
    S.Paid,
    ({ state, effects }) => effects.sendMail({ to: state.customer, text: `Thank you for the ${state.item}: ${state.receipt}` }),
    {
      requests: ["sendMail"],
    },
  )
  .final(S.Shipped, S.Cancelled)
  .commands({
    chargeCard: { onSuccess: (receipt) => E.Charged({ receipt }) },
    sendMail: { retry: RetryPolicy.fixed({ delay: "500 millis", maxAttempts: 3 }) },
  })

const Receipt = Schema.fromJsonString(Schema.Struct({ receipt: Schema.String }))

/** The machine with handlers that call the providers at an address. */
export const makeShop = (url: string) =>
  Order.build({
    chargeCard: async ({ customer, amount }, { key, signal }) =>
      Schema.decodeSync(Receipt)(await post(`${url}/charges`, key, signal, { customer, amount })).receipt,
    sendMail: async ({ to, text }, { key, signal }) => {
      await post(`${url}/mails`, key, signal, { to, text })
    },
  })

/** A repeated command has the same key, by which the provider recognises it. */
const post = async (url: string, key: string, signal: AbortSignal, body: Readonly<Record<string, string | number>>): Promise<string> => {
  const response = await fetch(url, { method: "POST", headers: { "idempotency-key": key }, body: JSON.stringify(body), signal })
  const text = await response.text()
  if (!response.ok) throw new Error(`${new URL(url).pathname} answered ${response.status}: ${text}`)
  return text
}
