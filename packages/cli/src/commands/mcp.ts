/** `detent mcp`: a Model Context Protocol server on stdin and stdout. It exits when its client closes stdin. */
import { createRequire } from "node:module"
import { Systems } from "@detent/workspace/Systems"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpServer from "effect/ai/McpServer"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { command } from "../line/Command.ts"
import { messageStdio } from "../mcp/MessageLines.ts"
import type { Session } from "../mcp/Session.ts"
import { toolHandlers } from "../mcp/ToolHandlers.ts"
import { tools } from "../mcp/Tools.ts"
import { forAgents, isThere, type Opened, type Place } from "../workspace/Opening.ts"
import { runningServer } from "../workspace/Server.ts"

/** The names of the tools that only read, and of those that change something. */
const named = (isReading: boolean): ReadonlyArray<string> =>
  Object.values(tools.tools)
    .filter(({ annotations }) => Context.get(annotations, Tool.Readonly) === isReading)
    .map(({ name }) => name)

const looks = named(true)
const acts = named(false)

/** The tools of knowledge. Their own file is loaded only where knowledge is on; a test compares these names with it. */
const graphLooks = [
  "query_graph",
  "ask_graph",
  "find_entities",
  "facts_of",
  "around_entity",
  "read_text",
  "read_vocabulary",
  "watch_batch",
  "preview_mapping",
  "estimate_batch",
  "list_review",
]
const graphActs = ["start_batch", "decide_review", "decide_identity", "undo_identity"]

const instructionsFor = (role: Session["role"], hasKnowledge: boolean): string => {
  const about = "Durable state machines (instances with a journal of events) and Effect workflows (executions made of activities)"
  const looking = hasKnowledge ? [...looks, ...graphLooks] : looks
  const acting = hasKnowledge ? [...acts, ...graphActs] : acts
  const graph = hasKnowledge ? ", batches that turn documents into a knowledge graph, and the graph" : ""
  const allowed =
    role === "operate" ? `act with ${acting.join(", ")}` : `${acting.join(", ")} are refused, since this session has the role read`
  return `${about}${graph}. Read with ${looking.join(", ")}; ${allowed}.`
}

export default command(
  {
    name: "mcp",
    serves: true,
    summary: "a Model Context Protocol server on stdin and stdout, for agents",
    detail: `Tools: ${looks.join(", ")}, retry_command as a dry run; with --role operate also ${acts.join(", ")}. Where knowledge is on: ${graphLooks.join(", ")}; with --role operate also ${graphActs.join(", ")}.`,
    arguments: [],
    options: [
      {
        name: "role",
        kind: "text",
        value: "ROLE",
        choices: ["read", "operate"],
        default: "read",
        summary: "read: read only; operate: also change things",
      },
    ],
    examples: [{ line: "detent mcp --role operate --data .detent", says: "the command to configure in an agent" }],
  },
  (input) =>
    Effect.gen(function* () {
      yield* isThere(input)
      const server = yield* runningServer(input)
      const session: Session = { role: input.role, server }
      yield* Effect.raceFirst(Layer.launch(served(session).pipe(Layer.provide(workspaceOf(input, session)))), inputEnded)
    }),
)

/** The tools of knowledge are offered, and loaded, only where knowledge is on. */
const served = (session: Session) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { knowledge } = yield* Systems
      const protocol = protocolFor(session.role, Option.isSome(knowledge))
      const core = McpServer.toolkit(tools).pipe(Layer.provide(toolHandlers(session)))
      if (Option.isNone(knowledge)) return Layer.provide(core, protocol)
      const { knowledgeTools, knowledgeToolHandlers } = yield* Effect.promise(() => import("../mcp/KnowledgeTools.ts"))
      const more = McpServer.toolkit(knowledgeTools).pipe(
        Layer.provide(knowledgeToolHandlers(session)),
        Layer.provide(Layer.succeedContext(knowledge.value)),
      )
      return Layer.provide(Layer.mergeAll(core, more), protocol)
    }),
  )

/** Without a server, a session of the role `operate` runs the work that it starts in this process. */
const workspaceOf = (place: Place, { role, server }: Session): Opened =>
  role === "operate" && server === undefined ? forAgents.working(place) : forAgents.observed(place)

const protocolFor = (role: Session["role"], hasKnowledge: boolean) =>
  McpServer.layerStdio({
    name: "detent",
    version: String(createRequire(import.meta.url)("../../package.json").version),
    instructions: instructionsFor(role, hasKnowledge),
    protocols: [McpProtocol.v2025_11_25, McpProtocol.v2025_06_18, McpProtocol.v2025_03_26, McpProtocol.v2024_11_05],
  }).pipe(Layer.provide(messageStdio))

/** Succeeds when the client closes stdin. Calls in flight are then interrupted. */
const inputEnded = Effect.callback<void>((resume) => {
  process.stdin.once("end", () => resume(Effect.void))
  process.stdin.once("close", () => resume(Effect.void))
})
