/** `detent mcp`: a Model Context Protocol server on stdin and stdout. It ends when its client closes them. */
import { createRequire } from "node:module"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as McpProtocol from "effect/unstable/ai/McpProtocol"
import * as McpServer from "effect/unstable/ai/McpServer"
import type { Handler } from "../Handler.ts"
import { messageStdio } from "../mcp/MessageLines.ts"
import { type Session, toolHandlers } from "../mcp/ToolHandlers.ts"
import { tools } from "../mcp/Tools.ts"
import { isThere, type Opened, observed, type Place, working } from "../workspace/Opening.ts"
import { type RunningServer, runningServer } from "../workspace/Server.ts"

const instructionsFor = (role: Session["role"]): string =>
  "Durable state machines (instances with a journal of events), batches that turn documents into a knowledge graph, and the graph. " +
  "Look with list_machines, list_instances, read_instance, read_history, query_graph and watch_batch; " +
  (role === "operate"
    ? "act with send_event and start_batch."
    : "send_event and start_batch are refused, since this session has the role read.")

export const mcp: Handler<"mcp"> = (input) =>
  Effect.gen(function* () {
    yield* isThere(input)
    const server = yield* runningServer(input)
    const session: Session = { role: input.role, server }
    const registered = McpServer.toolkit(tools).pipe(Layer.provide(toolHandlers(session)))
    const served = registered.pipe(Layer.provide(protocolFor(input.role)), Layer.provide(homeOf(input, session)))
    yield* Effect.raceFirst(Layer.launch(served), inputEnded)
  })

/** Who may act works here on what it starts, unless a server does. */
const homeOf = (place: Place, { role, server }: { readonly role: Session["role"]; readonly server: RunningServer | undefined }): Opened =>
  role === "operate" && server === undefined ? working(place) : observed(place)

const protocolFor = (role: Session["role"]) =>
  McpServer.layerStdio({
    name: "detent",
    version: String(createRequire(import.meta.url)("../../package.json").version),
    instructions: instructionsFor(role),
    protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2025_03_26, McpProtocol.v2024_11_05],
  }).pipe(Layer.provide(messageStdio))

/** A client that closes its side wants nothing more: calls under way are interrupted with it. */
const inputEnded = Effect.callback<void>((resume) => {
  process.stdin.once("end", () => resume(Effect.void))
  process.stdin.once("close", () => resume(Effect.void))
})
