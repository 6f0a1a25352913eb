import { CommandQueue, CommandWorker, Engine } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: () => Effect.succeed("receipt-1") })

// #region outbox
/** Events for orders, stored by transactions of the program. The handler sends each under its key, so that it is taken once. */
const Payments = CommandQueue.make("payments", { payload: Schema.Struct({ order: Schema.String }) })
const worker = CommandWorker.layer([
  Payments.handler(({ order }, { key }) =>
    Effect.gen(function* () {
      const instance = yield* Effect.fromOption(yield* (yield* Engine).get(BuiltOrder, order))
      yield* instance.send(E.Pay(), { id: key })
    }).pipe(Effect.orDie),
  ),
])

const program = Effect.gen(function* () {
  const sql = yield* SqlClient
  const engine = yield* Engine
  // One transaction stores the row and the instance.
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`insert into orders values ('order-7', 'Ada', 0)`
      yield* engine.startAll(BuiltOrder, [{ id: "order-7", input: { total: 42 } }])
    }),
  )
  // One transaction stores the row and the event. The worker sends the event after the commit.
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`update orders set paid = 1 where id = 'order-7'`
      yield* Payments.enqueue({ order: "order-7" }, { key: "payment-of-order-7" })
    }),
  )
  const order = yield* engine.ensure(BuiltOrder, "order-7", { total: 42 })
  yield* Console.log(yield* order.awaitFinal)
})

const store = SqliteStore.layer({ filename: ":memory:" })
const services = worker.pipe(Layer.provideMerge(Engine.layer()), Layer.provideMerge(store))
// #endregion outbox

const tables = Effect.flatMap(
  SqlClient,
  (sql) => sql`create table orders (id text primary key, customer text not null, paid integer not null)`,
)
await Effect.runPromise(Effect.provide(Effect.andThen(tables, program), services))
