/** Six orders with the events of their customers: four are delivered, one is never paid for, one is cancelled. */
import { ActorSystem, type SpawnError } from "@detent/machine"
import * as Effect from "effect/Effect"
import { E, Order, S } from "../order/Order.ts"

/** The payment timeout of the demo, shorter than that of a shop. */
export const paymentSeconds = 3

type Step = readonly [wait: number, event: typeof E.Type]

export interface Story {
  readonly orderId: string
  readonly customer: string
  readonly total: number
  /** The events, each with its delay in milliseconds after the previous one. */
  readonly steps: ReadonlyArray<Step>
}

const request = (wait: number): Step => [wait, E.RequestPayment()]
const pay = (wait: number): Step => [wait, E.ConfirmPayment({ transactionId: "t-1" })]
const ship = (wait: number, trackingNumber: string): Step => [wait, E.Ship({ trackingNumber })]
const deliver = (wait: number): Step => [wait, E.Deliver()]
const cancel = (wait: number, reason: string): Step => [wait, E.Cancel({ reason })]

export const stories: ReadonlyArray<Story> = [
  { orderId: "A-1", customer: "Ada", total: 42, steps: [request(300), pay(700), ship(1600, "1Z-071"), deliver(1500)] },
  { orderId: "A-2", customer: "Grace", total: 129.9, steps: [request(500), pay(1900), ship(1500, "1Z-072"), deliver(1700)] },
  { orderId: "A-3", customer: "Edsger", total: 17.5, steps: [request(600)] },
  // Cancelled after the payment: the event is refused.
  {
    orderId: "A-4",
    customer: "Barbara",
    total: 89,
    steps: [request(800), pay(1000), cancel(1100, "second thoughts"), ship(1900, "1Z-073"), deliver(1600)],
  },
  { orderId: "A-5", customer: "Alan", total: 256, steps: [request(400), cancel(1500, "found it cheaper")] },
  { orderId: "A-6", customer: "Margaret", total: 3.2, steps: [request(1200), pay(1400), ship(1400, "1Z-074"), deliver(1200)] },
]

const work = Effect.sleep("500 millis")

const DemoOrder = Order.timeout(
  S.AwaitingPayment,
  `${paymentSeconds} seconds`,
  S.Cancelled,
  ({ state }) => S.Cancelled.derive(state, { reason: `not paid within ${paymentSeconds} seconds` }),
  { override: true },
).build({ chargeCard: () => work, notifyWarehouse: () => work, sendEmail: () => work })

/** Plays all stories concurrently in the actor system. */
export const play: Effect.Effect<void, SpawnError, ActorSystem> = Effect.gen(function* () {
  const system = yield* ActorSystem
  yield* Effect.forEach(
    stories,
    ({ orderId, customer, total, steps }) =>
      Effect.gen(function* () {
        const order = yield* system.spawn(orderId, DemoOrder, { orderId, email: `${customer.toLowerCase()}@example.org`, total })
        // Refusals are ignored here: the inspectors of the system report them.
        for (const [wait, event] of steps) yield* Effect.delay(Effect.ignore(order.send(event)), wait)
        yield* order.watch
        yield* order.drain
      }),
    { concurrency: "unbounded", discard: true },
  )
})
