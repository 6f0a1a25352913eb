/** What an agent can ask for where knowledge is on, and how it is done. Imported only there. */
import { BatchId, isTerminal } from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import * as graph from "@detent/workspace/operations/graph"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Tool from "effect/unstable/ai/Tool"
import * as Toolkit from "effect/unstable/ai/Toolkit"
import { foldersOf } from "../batch/BatchSource.ts"
import { startBatch } from "../batch/BatchStarting.ts"
import { batchView } from "../batch/BatchView.ts"
import { chooseGraph } from "../graph/chooseGraph.ts"
import { json, type Session, sessionOf } from "./Session.ts"
import { failure, looking, optional, ToolRefused } from "./Tools.ts"

export const QueryGraph = Tool.make("query_graph", {
  ...looking,
  description: "A SPARQL query over the knowledge graph; the answer is SPARQL JSON, or N-Triples for CONSTRUCT. Use LIMIT.",
  parameters: Schema.Struct({
    sparql: Schema.String,
    namespace: optional(Schema.String, "which graph; not needed where there is only one"),
  }),
  success: Schema.Struct({ contentType: Schema.String, body: Schema.String }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const WatchBatch = Tool.make("watch_batch", {
  ...looking,
  description: "Waits until a batch of documents ends, at most this many seconds, and returns its status.",
  parameters: Schema.Struct({
    batch: Schema.String.annotate({ description: "the batch's id, such as batch-3f9c2a71b0d4" }),
    seconds: optional(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 600 })), "default: 30"),
  }),
  success: Schema.Struct({ batch: Schema.Json }),
})
  .annotate(Tool.Readonly, true)
  .annotate(Tool.Destructive, false)

export const StartBatch = Tool.make("start_batch", {
  failure,
  description: "Starts a batch that turns documents into facts of the graph; follow it with watch_batch. Needs the role operate.",
  parameters: Schema.Struct({
    source: Schema.String.annotate({
      description: "path of a manifest.json, of a folder that has one, or of a folder of documents; below the working folder",
    }),
    ontology: optional(Schema.String, "path of the ontology; for a folder without manifest"),
    namespace: optional(Schema.String, "the graph to add to; for a folder without manifest"),
  }),
  success: Schema.Struct({ batch: Schema.Json }),
})
  .annotate(Tool.Readonly, false)
  .annotate(Tool.Destructive, false)

export const knowledgeTools = Toolkit.make(QueryGraph, WatchBatch, StartBatch)

export const knowledgeToolHandlers = (
  session: Session,
): Layer.Layer<Tool.HandlersFor<typeof knowledgeTools.tools>, never, WorkspaceServices | KnowledgeServices> =>
  knowledgeTools.toLayer(
    Effect.map(Effect.context<WorkspaceServices | KnowledgeServices>(), (workspace) => {
      const { answering, operating } = sessionOf(session, workspace)
      return {
        query_graph: ({ sparql, namespace }) =>
          answering(
            Effect.gen(function* () {
              const version = yield* chooseGraph(namespace)
              return yield* graph.query(version, sparql, { maxLength: 200_000 })
            }),
          ),
        watch_batch: ({ batch, seconds = 30 }) =>
          answering(
            Effect.gen(function* () {
              const id = yield* Schema.decodeUnknownEffect(BatchId)(batch)
              const looking = Effect.repeat(batches.state(id), { until: isTerminal, schedule: Schedule.spaced("200 millis") })
              const state = yield* Effect.timeoutOrElse(looking, { duration: seconds * 1000, orElse: () => batches.state(id) })
              return { batch: json(batchView(state)) }
            }),
          ),
        start_batch: ({ source, ontology, namespace }) =>
          operating(
            Effect.gen(function* () {
              const input = { source, ontology, namespace, shapes: undefined, "keep-missing": false, examples: undefined }
              yield* foldersOf(input)
              const id = yield* startBatch(serverWithKnowledge(session), input, {})
              const state = yield* batches.state(id)
              return { batch: json(batchView(state)) }
            }),
          ).pipe(Effect.mapError(({ reason }) => new ToolRefused({ reason: inArguments(reason) }))),
      }
    }),
  )

const serverWithKnowledge = ({ server }: Session) => (server?.systems.includes("knowledge") ? server : undefined)

/** Texts that name options of the command name the tool's arguments, which are called the same. */
const inArguments = (text: string): string => text.replaceAll(/--(ontology|namespace)(?: (?:FILE|NAME)\b)?/g, "`$1`")
