/** A server with tight limits on content, as a program of its own. Arguments: the data folder and the port. It prints its address. */
import { runServer, serve, Workspace } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const [, , data = "", port = "0"] = process.argv
const limit = { time: "3 seconds", memory: 600 } as const
const contentLimits = { document: limit, chunk: limit, ontology: limit, query: { time: "2 seconds", memory: 600 } } as const
const workspace = Workspace.open({ data, role: "work", knowledge: { contentLimits } })

runServer(serve({ port: Number(port) }).pipe(Layer.provide(workspace)), ({ url }) => Effect.sync(() => console.log(url)))
