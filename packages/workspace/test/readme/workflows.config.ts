import { workflow } from "@detent/durable/promise"
import { Event, Machine, Slot, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"

const Checkout = Workflow.make("checkout", {
  payload: { order: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ order }) => order,
})

const Confirmed = DurableDeferred.make("confirmed", { success: Schema.Struct({ by: Schema.String }) })

const CheckoutLive = Checkout.toLayer(({ order }) =>
  Effect.gen(function* () {
    const { by } = yield* DurableDeferred.await(Confirmed)
    return yield* Activity.make({ name: "charge", success: Schema.String, execute: Effect.succeed(`charged ${order} for ${by}`) })
  }),
)

const Reminder = workflow(
  { name: "reminder", input: { order: Schema.String }, events: { paid: Schema.Struct({ by: Schema.String }) } },
  async ({ order }, durable) => {
    const paid = await durable.waitForEvent("paid", { timeout: "1 day" })
    return paid === undefined ? durable.step("remind", async () => `reminded of ${order}`) : `paid by ${paid.by}`
  },
)

const S = State({ Open: {}, CheckedOut: {} })
const E = Event({ CheckOut: {} })

/** Its handler starts an execution. Executed twice, the command starts one: the payload gives it the same idempotency key. */
const Cart = Machine.make({ name: "cart", state: S, event: E, effects: Slot.Effects({ checkOut: {} }), initial: S.Open() })
  .on(S.Open, E.CheckOut, S.CheckedOut)
  .enter(S.CheckedOut, ({ effects }) => effects.checkOut({}), { requests: ["checkOut"] })
  .final(S.CheckedOut)
  .build({ checkOut: (_, { id }) => Effect.asVoid(Checkout.execute({ order: id }, { discard: true })) })

export default defineConfig({
  machines: [Cart],
  workflows: [{ workflow: Checkout, layer: CheckoutLive, events: { confirmed: Confirmed } }, Reminder],
})
