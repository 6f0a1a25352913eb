import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Workflow from "effect/workflow/Workflow"
import { Order } from "./Order.ts"

const Invoice = Workflow.make("invoice", { payload: { order: Schema.String }, idempotencyKey: ({ order }) => order })

export default defineConfig({
  machines: [Order],
  workflows: [{ workflow: Invoice, layer: Invoice.toLayer(() => Effect.void) }],
  // A machine by its name, a workflow by its name after `workflow/`, as `detent machine list` shows them.
  retention: { order: "90 days", "workflow/invoice": "30 days" },
})
