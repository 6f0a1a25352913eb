/** What the tools do: the same as the commands of the same names. */
import { BatchId, isTerminal } from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import * as graph from "@detent/workspace/operations/graph"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Tool from "effect/unstable/ai/Tool"
import { foldersOf } from "../batch/BatchSource.ts"
import { startBatch } from "../batch/BatchStarting.ts"
import { batchView } from "../batch/BatchView.ts"
import { failureOf } from "../Failure.ts"
import { chooseGraph } from "../graph/chooseGraph.ts"
import { sendEvent } from "../instance/Sending.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import type { RunningServer } from "../workspace/Server.ts"
import { ToolRefused, tools } from "./Tools.ts"

export interface Session {
  readonly role: "read" | "operate"
  /** Which works in the workspace, so that it has to be asked for changes. */
  readonly server: RunningServer | undefined
}

const atOnce = 50

export const toolHandlers = (session: Session): Layer.Layer<Tool.HandlersFor<typeof tools.tools>, never, WorkspaceServices> =>
  tools.toLayer(
    Effect.map(Effect.context<WorkspaceServices>(), (home) => {
      const answering = answeringIn(home)
      const operating: typeof answering = (work) => (session.role === "operate" ? answering(work) : Effect.fail(mayOnlyLook))
      return {
        list_machines: () => answering(Effect.map(machines.list, (listed) => ({ machines: listed.map(json) }))),
        list_instances: ({ limit = atOnce, machine, state, ...query }) =>
          answering(
            Effect.gen(function* () {
              const { after } = yield* cursorFrom(query.after)
              if (machine !== undefined) yield* instances.checkState(machine, state)
              const { instances: found, next } = yield* instances.list({ ...query, machine, state, limit, after })
              return { instances: found.map(json), ...(next === undefined ? {} : { next: cursorText(next) }) }
            }),
          ),
        read_instance: ({ instance }) =>
          answering(
            Effect.map(Effect.flatMap(instances.resolve(instance), instances.describe), ({ tag: _, ...view }) => ({
              instance: json(view),
            })),
          ),
        read_history: ({ instance, after = 0, limit = atOnce }) =>
          answering(
            Effect.map(
              Effect.flatMap(instances.resolve(instance), (key) => instances.events(key, { after, limit })),
              ({ entries, ...next }) => ({ entries: entries.map(json), ...next }),
            ),
          ),
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
        send_event: ({ instance, event, fields = {}, key }) =>
          operating(Effect.map(sendEvent(session.server, { instance, event, fields, key }), ({ sent }) => ({ instance: json(sent) }))),
        start_batch: ({ source, ontology, namespace }) =>
          operating(
            Effect.gen(function* () {
              const input = { source, ontology, namespace, shapes: undefined, examples: undefined }
              yield* foldersOf(input)
              const id = yield* startBatch(session.server, input, {})
              const state = yield* batches.state(id)
              return { batch: json(batchView(state)) }
            }),
          ).pipe(Effect.mapError(({ reason }) => new ToolRefused({ reason: inArguments(reason) }))),
      }
    }),
  )

const mayOnlyLook = new ToolRefused({
  reason: "the role read may only look; start it with `detent mcp --role operate` to allow changes",
})

/** Texts that name options of the command name the tool's arguments, which are called the same. */
const inArguments = (text: string): string => text.replaceAll(/--(ontology|namespace)(?: (?:FILE|NAME)\b)?/g, "`$1`")

/** An agent reads messages, so that is what it gets: what went wrong, and what to do. */
const answeringIn =
  (home: Context.Context<WorkspaceServices>) =>
  <A, E>(work: Effect.Effect<A, E, WorkspaceServices>): Effect.Effect<A, ToolRefused> =>
    Effect.catchCause(Effect.provide(work, home), (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(new ToolRefused({ reason: failureOf(cause).message })),
    )

/** Views are made of plain values; where one is undefined, JSON leaves it out. */
const json = (value: object): Schema.Json => JSON.parse(JSON.stringify(value)) as Schema.Json
