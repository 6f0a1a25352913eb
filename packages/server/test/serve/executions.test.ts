import { defineConfig } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Activity from "effect/unstable/workflow/Activity"
import * as DurableDeferred from "effect/unstable/workflow/DurableDeferred"
import * as Workflow from "effect/unstable/workflow/Workflow"
import { json, request, served } from "../support/served.ts"

const Gate = DurableDeferred.make("gate", { success: Schema.String })
const Ship = Workflow.make("ship", { payload: { parcel: Schema.String }, success: Schema.String, idempotencyKey: ({ parcel }) => parcel })
const shipLayer = Ship.toLayer(({ parcel }) =>
  Effect.andThen(Activity.make({ name: "pack", success: Schema.String, execute: Effect.succeed(parcel) }), DurableDeferred.await(Gate)),
)
const config = defineConfig({ workflows: [{ workflow: Ship, layer: shipLayer }] })

describe("executions over HTTP", () => {
  it.live("of a workflow of the configuration are listed, read, interrupted", () =>
    Effect.gen(function* () {
      const { client, context, url } = yield* served({ config })
      const id = yield* Effect.provideContext(Ship.execute({ parcel: "books" }, { discard: true }), context)
      const suspended = Effect.map(client.executions.get({ params: { workflow: "ship", id } }), ({ phase }) => phase === "Suspended")
      while (!(yield* suspended)) yield* Effect.sleep("10 millis")
      const { executions } = yield* client.executions.list({ query: { workflow: "ship" } })
      assert.deepStrictEqual(
        executions.map((one) => [one.workflow, one.id, one.phase]),
        [["ship", id, "Suspended"]],
      )
      const { events } = yield* client.executions.history({ params: { workflow: "ship", id }, query: {} })
      assert.include(
        events.map(({ event }) => event),
        "Activity/pack",
      )
      assert.include(
        (yield* client.machines.list()).machines.map(({ name }) => name),
        "workflow/ship",
      )
      const interrupt = request(`${url}/api/v1/executions/ship/${id}/interrupt`, json({}, { "idempotency-key": "once" }))
      assert.strictEqual((yield* interrupt).status, 200)
      while (!(yield* client.executions.get({ params: { workflow: "ship", id } })).ended) yield* Effect.sleep("10 millis")
      // The same request again is answered with the first answer; another one finds that it has ended.
      assert.strictEqual((yield* interrupt).status, 200)
      const again = yield* request(`${url}/api/v1/executions/ship/${id}/interrupt`, json({}))
      assert.strictEqual(again.status, 409)
      assert.include(again.text, "has ended: it is Interrupted")
    }),
  )

  it.live("that are not there are refused", () =>
    Effect.gen(function* () {
      const { url } = yield* served({ config })
      const missing = yield* request(`${url}/api/v1/executions/ship/nothing`)
      assert.strictEqual(missing.status, 404)
      assert.include(missing.text, "GET /api/v1/executions")
      const unknown = yield* request(`${url}/api/v1/executions?workflow=shp`)
      assert.strictEqual(unknown.status, 404)
      assert.include(unknown.text, "known are extraction, ship")
    }),
  )
})
