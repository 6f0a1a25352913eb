/** What the tools do: the same as the commands of the same names. */
import * as executions from "@detent/workspace/operations/executions"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Tool from "effect/unstable/ai/Tool"
import { changeExecution } from "../execution/changeExecution.ts"
import { sendEvent } from "../instance/Sending.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { json, type Session, sessionOf } from "./Session.ts"
import { tools } from "./Tools.ts"

const atOnce = 50

export const toolHandlers = (session: Session): Layer.Layer<Tool.HandlersFor<typeof tools.tools>, never, WorkspaceServices> =>
  tools.toLayer(
    Effect.map(Effect.context<WorkspaceServices>(), (workspace) => {
      const { answering, operating } = sessionOf(session, workspace)
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
        list_executions: ({ workflow, phase, limit = atOnce, ...query }) =>
          answering(
            Effect.gen(function* () {
              const { after } = yield* cursorFrom(query.after)
              const { executions: found, next } = yield* executions.list({ workflow, phase, limit, after })
              return { executions: found.map(json), ...(next === undefined ? {} : { next: cursorText(next) }) }
            }),
          ),
        read_execution: ({ workflow, id }) =>
          answering(
            Effect.gen(function* () {
              const execution = yield* executions.get(workflow, id)
              const { events } = yield* executions.history(workflow, id, { after: Math.max(0, execution.events - atOnce), limit: atOnce })
              return { execution: json(execution), events: events.map(json) }
            }),
          ),
        send_event: ({ instance, event, fields = {}, key }) =>
          operating(Effect.map(sendEvent(session.server, { instance, event, fields, key }), ({ sent }) => ({ instance: json(sent) }))),
        resume_execution: ({ workflow, id }) =>
          operating(Effect.map(changeExecution(session.server, "resume", { workflow, id }), (view) => ({ execution: json(view) }))),
        interrupt_execution: ({ workflow, id }) =>
          operating(Effect.map(changeExecution(session.server, "interrupt", { workflow, id }), (view) => ({ execution: json(view) }))),
      }
    }),
  )
