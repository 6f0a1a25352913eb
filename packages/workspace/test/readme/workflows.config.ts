import { workflow } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/unstable/workflow/Activity"
import * as Workflow from "effect/unstable/workflow/Workflow"

const Checkout = Workflow.make("checkout", {
  payload: { order: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ order }) => order,
})

const CheckoutLive = Checkout.toLayer(({ order }) =>
  Activity.make({ name: "charge the card", success: Schema.String, execute: Effect.succeed(`charged ${order}`) }),
)

const Reminder = workflow({ name: "reminder", input: { order: Schema.String } }, async ({ order }, durable) => {
  await durable.sleep("a day", "1 day")
  return durable.step("remind", async () => `reminded of ${order}`)
})

const S = State({ Open: {}, CheckedOut: {} })
const E = Event({ CheckOut: {} })

/** Its handler starts an execution. Executed twice, the command starts one: the payload gives it the same idempotency key. */
const Cart = Machine.make({ name: "cart", state: S, event: E, effects: Slot.Effects({ checkOut: {} }), initial: S.Open() })
  .on(S.Open, E.CheckOut, S.CheckedOut)
  .enter(S.CheckedOut, ({ effects }) => effects.checkOut({}), { requests: ["checkOut"] })
  .final(S.CheckedOut)
  .build({ checkOut: (_, { id }) => Effect.asVoid(Checkout.execute({ order: id }, { discard: true })) })

export default defineConfig({ machines: [Cart], workflows: [{ workflow: Checkout, layer: CheckoutLive }, Reminder] })
