import { Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: ({ total }, { key }) => Effect.as(Console.log(`charging ${total} under ${key}`), "receipt-1") })

const program = Effect.gen(function* () {
  const engine = yield* Engine
  yield* engine.register(BuiltOrder)
  const order = yield* engine.ensure(BuiltOrder, "order-7", { total: 42 })
  if ((yield* order.state)._tag === "Open") yield* order.send(E.Pay(), { id: "webhook-77" })
  yield* Console.log(yield* order.awaitFinal)
})

const store = SqliteStore.layer({ filename: "data/orders.db" })
await Effect.runPromise(Effect.provide(program, Engine.layer().pipe(Layer.provide(store))))
