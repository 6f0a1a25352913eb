/** A server as a program of its own, to be killed. Arguments: the data folder and the port. It prints its address. */
import { defineConfig, runServer, serve, Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Tally } from "./Tally.ts"

const [, , data = "", port = "0"] = process.argv
const workspace = Workspace.open({ data, role: "work", config: defineConfig({ machines: [Tally] }), knowledge: {}, uploads: {} })

runServer(serve({ port: Number(port) }).pipe(Layer.provide(workspace)), ({ url }) => Effect.sync(() => console.log(url)))
