/** The Effect workflow that both engines run, unchanged. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as Workflow from "effect/workflow/Workflow"
import { stepCount } from "./Workload.ts"

export const Steps = Workflow.make("Steps", { payload: { id: Schema.String }, idempotencyKey: ({ id }) => id })

export const stepsLayer = Steps.toLayer(
  Effect.fnUntraced(function* () {
    for (let step = 0; step < stepCount; step++) yield* Activity.make({ name: `step-${step}`, execute: Effect.void })
  }),
)
