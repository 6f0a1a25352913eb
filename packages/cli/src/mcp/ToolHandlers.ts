/** The handlers of the tools. They run the same operations as the commands. */
import * as access from "@detent/workspace/operations/access"
import * as commands from "@detent/workspace/operations/commands"
import * as executions from "@detent/workspace/operations/executions"
import * as instances from "@detent/workspace/operations/instances"
import * as machines from "@detent/workspace/operations/machines"
import * as oracle from "@detent/workspace/operations/oracle"
import * as schedules from "@detent/workspace/operations/schedules"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { changeExecution, sendToExecution, startExecution } from "../execution/changeExecution.ts"
import { changeLabels } from "../instance/changeLabels.ts"
import { sendEvent, startInstance } from "../instance/Sending.ts"
import { limitQueue } from "../queue/limitQueue.ts"
import { backfillSchedule, changeSchedule, defineSchedule, removeSchedule } from "../schedule/changeSchedule.ts"
import { checkKey } from "../workspace/Changing.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { json, type Session, sessionOf } from "./Session.ts"
import { ToolRefused, tools } from "./Tools.ts"

const atOnce = 50

export const toolHandlers = (session: Session): Layer.Layer<Tool.HandlersFor<typeof tools.tools>, never, WorkspaceServices> =>
  tools.toLayer(
    Effect.map(Effect.context<WorkspaceServices>(), (workspace) => {
      const { answering, operating } = sessionOf(session, workspace)
      return {
        list_machines: () => answering(Effect.map(machines.list, (listed) => ({ machines: listed.map(json) }))),
        check_machines: ({ ended = false, ...request }) =>
          answering(
            Effect.map(oracle.check({ ...request, workers: 1, ...(ended ? { ended: {} } : {}) }), (reports) => ({
              reports: reports.map(json),
            })),
          ),
        list_instances: ({ limit = atOnce, machine, state, ...query }) =>
          answering(
            Effect.gen(function* () {
              const { after } = yield* cursorFrom(query.after)
              if (machine !== undefined) yield* instances.checkState(machine, state)
              const { instances: found, next, filling } = yield* instances.list({ ...query, machine, state, limit, after })
              return {
                instances: found.map(json),
                ...(filling === undefined ? {} : { filling }),
                ...(next === undefined ? {} : { next: cursorText(next) }),
              }
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
        watch_instance: ({ instance, after, seconds = 30 }) =>
          answering(
            Effect.gen(function* () {
              const key = yield* instances.resolve(instance)
              const from = after ?? (yield* instances.record(key)).sequence
              yield* Effect.timeoutOption(Stream.runHead(instances.watch(key, { after: from })), seconds * 1000)
              const { entries } = yield* instances.events(key, { after: from, limit: 1000 })
              const { tag: _, ...view } = yield* instances.describe(key)
              return { instance: json(view), entries: entries.map(json) }
            }),
          ),
        preview_event: ({ instance, event, fields = {} }) =>
          answering(
            Effect.map(
              Effect.flatMap(instances.resolve(instance), (key) => instances.preview(key, { ...fields, _tag: event })),
              (preview) => ({ preview: json(preview) }),
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
        list_commands: ({ limit = atOnce, after, instance, ...filter }) =>
          answering(
            Effect.gen(function* () {
              const of = instance === undefined ? {} : yield* instances.resolve(instance)
              const { commands: found, ...next } = yield* commands.list({ ...filter, ...of }, limit, after)
              return { commands: found.map(json), ...next }
            }),
          ),
        read_audit_log: ({ limit = atOnce, ...filter }) =>
          operating(Effect.map(access.audit({ ...filter, limit }), (page) => ({ ...page, entries: page.entries.map(json) }))),
        list_queues: ({ queue, limit = atOnce, after }) =>
          answering(
            Effect.gen(function* () {
              if (queue === undefined) return { queues: (yield* commands.queues).map(json) }
              const page = yield* commands.queueGroups(queue, limit, after)
              return { ...page, groups: page.groups.map(json) }
            }),
          ),
        limit_queue: ({ key, ...change }) =>
          operating(Effect.map(limitQueue({ ...change, key }), (limited) => ({ limited: json(limited) }))),
        list_schedules: ({ limit = atOnce, after }) =>
          answering(Effect.map(schedules.list({ limit, after }), (page) => ({ ...page, schedules: page.schedules.map(json) }))),
        read_schedule: ({ schedule }) => answering(Effect.map(schedules.get(schedule), (view) => ({ schedule: json(view) }))),
        define_schedule: ({ schedule, ...request }) =>
          operating(Effect.map(defineSchedule(session.server, { name: schedule, ...request }), (view) => ({ schedule: json(view) }))),
        change_schedule: ({ schedule, change, key }) =>
          operating(Effect.map(changeSchedule(session.server, change, { name: schedule, key }), (view) => ({ schedule: json(view) }))),
        backfill_schedule: ({ schedule, ...request }) => operating(backfillSchedule(session.server, { name: schedule, ...request })),
        remove_schedule: ({ schedule, key }) =>
          operating(Effect.as(removeSchedule(session.server, { name: schedule, key }), { removed: schedule })),
        retry_command: ({ dryRun = false, ...request }) => {
          const retried = Effect.andThen(checkKey(request.key), commands.retryOnce({ key: undefined, ...request, dryRun }))
          const answer = Effect.map(retried, (command) => ({ command: json(command), dryRun }))
          return dryRun ? answering(answer) : operating(answer)
        },
        start_instance: ({ machine, id, fields, state, key }) =>
          operating(
            Effect.map(startInstance(session.server, { machine, id, fields, state, key }), (started) => ({ instance: json(started) })),
          ).pipe(withArguments({ "--with": "`fields`" })),
        start_execution: ({ workflow, payload = {}, id, key }) =>
          operating(Effect.map(startExecution(session.server, { workflow, payload, id, key }), (view) => ({ execution: json(view) }))).pipe(
            withArguments({ "--id": "`id`" }),
          ),
        send_event: ({ instance, event, fields = {}, key }) =>
          operating(Effect.map(sendEvent(session.server, { instance, event, fields, key }), ({ sent }) => ({ instance: json(sent) }))),
        label_instance: ({ key, ...change }) =>
          operating(Effect.map(changeLabels(session.server, { ...change, key }), ({ labels }) => ({ labels }))),
        send_execution_event: ({ beforeStart = false, ...sent }) =>
          operating(Effect.map(sendToExecution(session.server, { ...sent, beforeStart }), (view) => ({ execution: json(view) }))),
        resume_execution: ({ workflow, id, key }) =>
          operating(Effect.map(changeExecution(session.server, "resume", { workflow, id, key }), (view) => ({ execution: json(view) }))),
        interrupt_execution: ({ workflow, id, key }) =>
          operating(Effect.map(changeExecution(session.server, "interrupt", { workflow, id, key }), (view) => ({ execution: json(view) }))),
      }
    }),
  )

/** Replaces options of the command in an error by the tool's arguments. */
const withArguments =
  (names: Readonly<Record<string, string>>) =>
  <A>(tool: Effect.Effect<A, ToolRefused>): Effect.Effect<A, ToolRefused> =>
    Effect.mapError(tool, ({ reason }) => {
      const named = Object.entries(names).reduce((text, [option, argument]) => text.replaceAll(option, argument), reason)
      return new ToolRefused({ reason: named })
    })
