/**
 * The Detent server of the cart. Arguments: the data folder, the port, the origin of the application. The environment has the token:
 *
 *     DETENT_TOKEN=a-token-of-your-own npx node examples/react/server.ts .detent 4400 http://127.0.0.1:4401
 */
import { Engine } from "@detent/durable"
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Cart } from "./Cart.ts"

const [, , data = ".detent", port = "4400", origin = "http://127.0.0.1:4401"] = process.argv
const workspace = Workspace.open({ data, role: "work", config: defineConfig({ machines: [Cart] }) })
const server = serve({ port: Number(port), token: Redacted.make(process.env["DETENT_TOKEN"] ?? ""), origins: [origin] })
const started = Layer.effectDiscard(Effect.flatMap(Engine, (engine) => engine.ensure(Cart, "cart-1")))

runServer(Layer.merge(server, started).pipe(Layer.provide(workspace)), ({ url }) => Effect.sync(() => console.log(url)))
