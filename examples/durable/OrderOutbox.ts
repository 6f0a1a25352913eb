/**
 * An order that charges a card, mails its customer and notifies the warehouse. None of that happens in a transition: the
 * transition requests commands, which are stored with it and executed afterwards, again after a failure. Each command has an
 * idempotency key, so that its work is done once.
 *
 * Run it: `npx node examples/durable/OrderOutbox.ts`. The processor loses its first answers; the card is charged once.
 */
import { commandReport, Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { startCardProcessor } from "./CardProcessor.ts"

const order = { customer: Schema.String, card: Schema.String, total: Schema.Finite }

export const S = State({
  Open: order,
  Charging: order,
  Paid: { ...order, receipt: Schema.String },
  Shipped: { receipt: Schema.String },
  Declined: { reason: Schema.String },
})
export const E = Event({ Pay: {}, Charged: { receipt: Schema.String }, Refused: { reason: Schema.String }, Ship: {} })

export class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { reason: Schema.String }) {}
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", { problem: Schema.String }) {}

const effects = Slot.Effects({
  chargeCard: Slot.effect(
    { card: Schema.String, total: Schema.Finite },
    { success: Schema.String, failure: Schema.Union([CardDeclined, NoAnswer]) },
  ),
  sendMail: { to: Schema.String, text: Schema.String },
  notifyWarehouse: { orderId: Schema.String },
})

/** The external services. The key distinguishes a repeated call from a new one. */
export class Shop extends Context.Service<
  Shop,
  {
    readonly charge: (key: string, card: string, total: number) => Effect.Effect<string, CardDeclined | NoAnswer>
    readonly mail: (key: string, to: string, text: string) => Effect.Effect<void>
    readonly ship: (key: string, orderId: string) => Effect.Effect<void>
  }
>()("examples/Shop") {}

export const Order = Machine.make({
  name: "order",
  state: S,
  event: E,
  effects,
  initial: (given: typeof S.Open.Type) => given,
  initialState: S.Open,
})
  .on(
    S.Open,
    E.Pay,
    S.Charging,
    ({ state, effects }) => {
      effects.chargeCard({ card: state.card, total: state.total })
      return S.Charging.derive(state)
    },
    { requests: ["chargeCard"] },
  )
  .on(
    S.Charging,
    E.Charged,
    S.Paid,
    ({ state, event, effects }) => {
      effects.sendMail({ to: state.customer, text: `paid, ${event.receipt}` })
      return S.Paid.derive(state, { receipt: event.receipt })
    },
    { requests: ["sendMail"] },
  )
  .on(
    S.Charging,
    E.Refused,
    S.Declined,
    ({ state, event, effects }) => {
      effects.sendMail({ to: state.customer, text: `not paid: ${event.reason}` })
      return S.Declined({ reason: event.reason })
    },
    { requests: ["sendMail"] },
  )
  .on(
    S.Paid,
    E.Ship,
    S.Shipped,
    ({ state, effects }) => {
      effects.notifyWarehouse({ orderId: state.receipt })
      effects.sendMail({ to: state.customer, text: "on its way" })
      return S.Shipped({ receipt: state.receipt })
    },
    { requests: ["notifyWarehouse", "sendMail"] },
  )
  .final(S.Shipped, S.Declined)
  .commands({
    chargeCard: {
      retry: RetryPolicy.exponential({ initialDelay: "50 millis", maxAttempts: 5 }),
      retryable: (error) => error._tag === "NoAnswer",
      onSuccess: (receipt) => E.Charged({ receipt }),
      onFailure: (error) => E.Refused({ reason: error._tag === "CardDeclined" ? error.reason : error.problem }),
    },
    sendMail: { queue: "mails", ordered: true },
  })
  .build({
    chargeCard: ({ card, total }, { key }) => Effect.flatMap(Shop, (shop) => shop.charge(key, card, total)),
    sendMail: ({ to, text }, { key }) => Effect.flatMap(Shop, (shop) => shop.mail(key, to, text)),
    notifyWarehouse: ({ orderId }, { key }) => Effect.flatMap(Shop, (shop) => shop.ship(key, orderId)),
  })

/** A charge over HTTP, with the command's key as the idempotency key. */
export const chargeAt = (url: string) => (key: string, card: string, total: number) =>
  Effect.gen(function* () {
    const response = yield* Effect.tryPromise({
      try: () => fetch(url, { method: "POST", headers: { "idempotency-key": key }, body: JSON.stringify({ card, total }) }),
      catch: (cause) => new NoAnswer({ problem: String(cause) }),
    })
    const body = yield* Effect.orDie(
      Effect.flatMap(
        Effect.promise(() => response.json()),
        Schema.decodeUnknownEffect(Answer),
      ),
    )
    return body.receipt ?? (yield* Effect.fail(new CardDeclined({ reason: body.declined ?? "no reason" })))
  })

const Answer = Schema.Struct({ receipt: Schema.optionalKey(Schema.String), declined: Schema.optionalKey(Schema.String) })

const main = Effect.scoped(
  Effect.gen(function* () {
    const processor = yield* startCardProcessor(2)
    const shop = Layer.succeed(Shop, {
      charge: chargeAt(processor.url),
      mail: (_, to, text) => Console.log(`mail to ${to}: ${text}`),
      ship: (_, orderId) => Console.log(`the warehouse packs ${orderId}`),
    })
    const program = Effect.gen(function* () {
      const engine = yield* Engine
      const order = yield* engine.start(Order, "order-7", S.Open({ customer: "ada@example.org", card: "4242", total: 42 }))
      yield* order.send(E.Pay())
      yield* order.waitFor(({ _tag }) => _tag === "Paid")
      yield* order.send(E.Ship())
      // The commands of the last transition are executed a moment after it.
      yield* Effect.sleep("200 millis")
      yield* Console.log(`charged ${processor.charges.size} time, asked ${processor.requests()} times\n`)
      yield* Console.log(yield* commandReport({ title: "Commands" }))
    })
    // `provideMerge`, so that the report can read the store's `Commands` too.
    const engine = Engine.layer().pipe(Layer.provideMerge(SqliteStore.layer({ filename: ":memory:" })))
    yield* program.pipe(Effect.provide(Layer.mergeAll(engine, shop)))
  }),
)

if (import.meta.main) await Effect.runPromise(main)
