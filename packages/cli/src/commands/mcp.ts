/** `detent mcp`: a Model Context Protocol server on stdin and stdout. It exits when its client closes stdin. */
import { createRequire } from "node:module"
import { Systems } from "@detent/workspace/Systems"
import * as McpProtocol from "effect/ai/McpProtocol"
import * as McpServer from "effect/ai/McpServer"
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

const instructionsFor = (role: Session["role"], hasKnowledge: boolean): string => {
  const about = "Durable state machines (instances with a journal of events) and Effect workflows (executions made of activities)"
  const looks = [
    "list_machines",
    "list_instances",
    "read_instance",
    "read_history",
    "watch_instance",
    "preview_event",
    "list_executions",
    "read_execution",
    "list_commands",
  ]
  const acts = [
    "start_instance",
    "send_event",
    "start_execution",
    "send_execution_event",
    "resume_execution",
    "interrupt_execution",
    "retry_command",
  ]
  const looking = hasKnowledge ? [...looks, ...graphLooks, "watch_batch", "preview_mapping", "estimate_batch", "list_review"] : looks
  const acting = hasKnowledge ? [...acts, "start_batch", "decide_review", "decide_identity", "undo_identity"] : acts
  const graph = hasKnowledge ? ", batches that turn documents into a knowledge graph, and the graph" : ""
  const allowed =
    role === "operate" ? `act with ${acting.join(", ")}` : `${acting.join(", ")} are refused, since this session has the role read`
  return `${about}${graph}. Read with ${looking.join(", ")}; ${allowed}.`
}

/** The tools that read a graph. */
const graphLooks = ["ask_graph", "find_entities", "facts_of", "around_entity", "read_text", "read_vocabulary", "query_graph"]

export default command(
  {
    name: "mcp",
    serves: true,
    summary: "a Model Context Protocol server on stdin and stdout, for agents",
    detail:
      "Tools: list_machines, list_instances, read_instance, read_history, watch_instance, preview_event, list_executions, read_execution, list_commands, retry_command as a dry run; with --role operate also start_instance, send_event, start_execution, send_execution_event, resume_execution, interrupt_execution, retry_command. Where knowledge is on: query_graph, ask_graph, find_entities, facts_of, around_entity, read_text, read_vocabulary, watch_batch, preview_mapping, estimate_batch, list_review and, with --role operate, start_batch, decide_review, decide_identity and undo_identity.",
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
