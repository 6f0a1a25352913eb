/**
 * An order from the basket to the delivery: its events, the commands that it requests, and the timeout that cancels it
 * without a payment.
 *
 * Run it: `npx node examples/order/Order.ts`
 */
import { Event, Machine, Slot, State, spawn } from "@detent/machine"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const order = { orderId: Schema.String, email: Schema.String, total: Schema.Finite }

// Each state has exactly the fields that are known in it: there is no transaction before the payment, and no tracking number
// before the parcel. So no field is optional.
export const S = State({
  Pending: order,
  AwaitingPayment: order,
  Paid: { ...order, transactionId: Schema.String },
  Shipped: { ...order, trackingNumber: Schema.String },
  Delivered: { orderId: Schema.String, trackingNumber: Schema.String },
  Cancelled: { orderId: Schema.String, reason: Schema.String },
})

export const E = Event({
  RequestPayment: {},
  ConfirmPayment: { transactionId: Schema.String },
  Ship: { trackingNumber: Schema.String },
  Deliver: {},
  Cancel: { reason: Schema.String },
})

// The effects of the order, by name. `build` implements them later, so the machine can be drawn and tested without a
// payment provider.
const effects = Slot.Effects({
  chargeCard: { orderId: Schema.String, amount: Schema.Finite, transactionId: Schema.String },
  notifyWarehouse: { orderId: Schema.String },
  sendEmail: { to: Schema.String, subject: Schema.String },
})

export const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Pending })
  // Fields are carried over by name, from the state and from the event: a transition that needs nothing else has no decision.
  .on(S.Pending, E.RequestPayment, S.AwaitingPayment)
  .on(S.AwaitingPayment, E.ConfirmPayment, S.Paid)
  .on(S.Paid, E.Ship, S.Shipped)
  .on(S.Shipped, E.Deliver, S.Delivered)
  .on([S.Pending, S.AwaitingPayment], E.Cancel, S.Cancelled)
  .timeout(S.AwaitingPayment, "30 minutes", S.Cancelled, ({ state }) => S.Cancelled.derive(state, { reason: "not paid in time" }))
  // An effect called here is requested: it becomes a command, executed after the transition to Paid is committed. `requests` is
  // for diagrams: drawing a machine calls no function of it.
  .enter(
    S.Paid,
    ({ state, effects }) => {
      effects.chargeCard({ orderId: state.orderId, amount: state.total, transactionId: state.transactionId })
      effects.notifyWarehouse({ orderId: state.orderId })
    },
    { requests: ["chargeCard", "notifyWarehouse"] },
  )
  .enter(
    S.Shipped,
    ({ state, effects }) =>
      effects.sendEmail({ to: state.email, subject: `Order ${state.orderId} is on its way: ${state.trackingNumber}` }),
    { name: "tell the customer", requests: ["sendEmail"] },
  )
  // A hook may also return an Effect. It runs after the transition, and before the next event is handled.
  .enter(S.AwaitingPayment, ({ state }) => Effect.logDebug(`waiting for the payment of order ${state.orderId}`))
  .exit(S.AwaitingPayment, ({ state }) => Effect.logDebug(`no longer waiting for the payment of order ${state.orderId}`))
  .enter(S.Cancelled, ({ state }) => Effect.logDebug(`order ${state.orderId} cancelled: ${state.reason}`), { name: "log the reason" })
  .final(S.Delivered, S.Cancelled)
  .total()

/** The order with handlers that only print. */
export const PrintedOrder = Order.build({
  chargeCard: ({ amount, transactionId }) => Console.log(`    command: charge ${amount} € (${transactionId})`),
  notifyWarehouse: ({ orderId }) => Console.log(`    command: tell the warehouse to pack ${orderId}`),
  sendEmail: ({ to, subject }) => Console.log(`    command: write to ${to}: ${subject}`),
})

const main = Effect.gen(function* () {
  const order = yield* spawn(PrintedOrder, { orderId: "A-7", email: "ada@example.org", total: 42 })
  order.subscribe((state) => console.log(`→ ${state._tag}`))
  yield* order.send(E.RequestPayment())
  yield* order.send(E.ConfirmPayment({ transactionId: "t-1" }))

  // Too late to cancel: the sender gets an error, and the order is unchanged.
  const refusal = yield* Effect.flip(order.send(E.Cancel({ reason: "changed my mind" })))
  yield* Console.log(`✗ ${refusal.message}`)

  yield* order.send(E.Ship({ trackingNumber: "1Z-99" }))
  yield* order.send(E.Deliver())
  yield* Console.log("the end:", yield* order.awaitFinal)
})

if (import.meta.main) await Effect.runPromise(Effect.scoped(main))
