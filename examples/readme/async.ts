/**
 * An order that survives `kill -9`. Kill the process while it charges the card, start it again, and it resumes.
 *
 * Run it: `npx node examples/readme/async.ts`. The first argument is the file of the database.
 */
import { setTimeout } from "node:timers/promises"
import { openEngine } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import * as Schema from "effect/Schema"

const S = State({ Open: { total: Schema.Finite }, Charging: { total: Schema.Finite }, Paid: { receipt: Schema.String } })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
const effects = Slot.Effects({ charge: Slot.effect({ total: Schema.Finite }, { success: Schema.String }) })

const Order = Machine.make({ name: "order", state: S, event: E, effects, initial: S.Open })
  .on(S.Open, E.Pay, S.Charging, ({ state, effects }) => {
    effects.charge({ total: state.total }) // stored with the transition, executed after it
    return S.Charging.derive(state)
  })
  .on(S.Charging, E.Charged, S.Paid)
  .final(S.Paid)
  .commands({ charge: { onSuccess: (receipt) => E.Charged({ receipt }) } })
  .build({
    charge: async ({ total }, { key }) => {
      console.log(`charging ${total} under the key ${key}`) // a repeated command has the same key: the bank charges once
      await setTimeout(2000) // time to kill the process
      return "receipt-1"
    },
  })

await using engine = await openEngine({ database: `sqlite:${process.argv[2] ?? "orders.db"}`, machines: [Order] })
const order = await engine.ensure(Order, "order-123", { total: 42 })
if ((await order.state())._tag === "Open") await order.send(E.Pay(), { id: "webhook-77" }) // sent again under this id: the first answer
const paid = await order.waitFor((state) => state._tag === "Paid")
console.log(paid.receipt)
for await (const { sequence, event } of order.history()) console.log(sequence, event._tag)
