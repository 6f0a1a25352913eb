import { workflow } from "@detent/durable/promise"
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

export default defineConfig({ workflows: [{ workflow: Checkout, layer: CheckoutLive }, Reminder] })
