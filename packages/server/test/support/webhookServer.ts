/** A server with a webhook, to be killed. Arguments: the database and the secret. It sends its address. */
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Engine } from "@detent/durable"
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import { sendEvent, stripeSignature, webhook } from "@detent/workspace/Webhook"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { E, Tally } from "./Tally.ts"

const [, , database = "", secret = ""] = process.argv

const stripe = webhook("stripe", {
  verify: stripeSignature(secret),
  body: Schema.Struct({ id: Schema.String, data: Schema.Struct({ order: Schema.String, cents: Schema.Int }) }),
  id: ({ body }) => body.id,
  on: ({ body: { data } }) => sendEvent(Tally, data.order, E.Add({ by: data.cents })),
})

const data = mkdtempSync(join(tmpdir(), "detent-webhook-"))
const workspace = Workspace.open({ data, database, role: "work", config: defineConfig({ machines: [Tally], webhooks: [stripe] }) })
const order = Layer.effectDiscard(Effect.flatMap(Engine, (engine) => engine.ensure(Tally, "order-1")))

runServer(serve({ port: 0 }).pipe(Layer.provideMerge(order), Layer.provide(workspace)), ({ url }) => Effect.sync(() => process.send?.(url)))
