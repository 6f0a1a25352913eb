import { DurableWorkflow, MemoryStore } from "@detent/durable"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"

const Checkout = Workflow.make("checkout", {
  payload: { order: Schema.String },
  success: Schema.String,
  idempotencyKey: ({ order }) => order,
})

const CheckoutLive = Checkout.toLayer(({ order }) =>
  Activity.make({ name: "charge", success: Schema.String, execute: Effect.succeed(`charged ${order}`) }),
)

const engine = DurableWorkflow.layer({ nodeId: "shop" }).pipe(Layer.provide(MemoryStore.layer))
const program = Effect.gen(function* () {
  yield* Console.log(yield* Checkout.execute({ order: "order-7" }))
  yield* Console.log(yield* Checkout.execute({ order: "order-7" })) // the same key: the stored result
})
await Effect.runPromise(Effect.provide(program, CheckoutLive.pipe(Layer.provideMerge(engine))))
