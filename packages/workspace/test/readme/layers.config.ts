import { Engine } from "@detent/durable"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { Order } from "./Order.ts"

/** A service of the project. Its layer uses the workspace's database. */
class Stock extends Context.Service<Stock, { readonly priceOf: (item: string) => Effect.Effect<number> }>()("shop/Stock") {
  static readonly layer = Layer.effect(
    Stock,
    Effect.map(SqlClient, (sql) => ({
      priceOf: (item: string) => Effect.as(Effect.orDie(sql`SELECT ${item} AS item`), 42),
    })),
  )
}

const S = State({ Open: {}, Ordered: { item: Schema.String } })
const E = Event({ Buy: { item: Schema.String } })
const effects = Slot.Effects({ order: { item: Schema.String } })

/** Its handler needs `Stock`, which is in `layers`, and `Engine`, which every workspace provides. */
const Cart = Machine.make({ name: "cart", state: S, event: E, effects, initial: S.Open() })
  .on(
    S.Open,
    E.Buy,
    S.Ordered,
    ({ event, effects }) => {
      effects.order({ item: event.item })
      return S.Ordered({ item: event.item })
    },
    { requests: ["order"] },
  )
  .final(S.Ordered)
  .build({
    order: ({ item }, { key }) =>
      Effect.gen(function* () {
        const price = yield* (yield* Stock).priceOf(item)
        // Executed twice, the command starts one order: the id is made of its key.
        yield* (yield* Engine).ensure(Order, `order-${key}`, { total: price })
      }).pipe(Effect.orDie),
  })

export default defineConfig({ machines: [Cart, Order], layers: Stock.layer })
