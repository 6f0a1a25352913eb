/** A workflow that packs a parcel and then waits. The parcel alone tells which execution it is. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/workflow/Activity"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"

export const Gate = DurableDeferred.make("gate", { success: Schema.String })

export const Ship = Workflow.make("ship", {
  payload: { parcel: Schema.String, note: Schema.optionalKey(Schema.String) },
  success: Schema.String,
  idempotencyKey: ({ parcel }) => parcel,
})

export const shipLayer = Ship.toLayer(({ parcel }) =>
  Effect.andThen(Activity.make({ name: "pack", success: Schema.String, execute: Effect.succeed(parcel) }), DurableDeferred.await(Gate)),
)
