/** `detent execution`: executions of workflows. */
import { spans as executionSpans, type Span } from "@detent/workspace/operations/executionSpans"
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import { changeExecution, sendToExecution, startExecution } from "../execution/changeExecution.ts"
import { WrongUsage } from "../Failure.ts"
import { fieldsOf, valueOf } from "../instance/Fields.ts"
import { command } from "../line/Command.ts"
import { agreed } from "../output/Asking.ts"
import { durationText, momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { acting, observing, type Place, placeText } from "../workspace/Opening.ts"
import { type RunningServer, runningServer } from "../workspace/Server.ts"
import { keyOption, paging } from "./shared.ts"

/** The prefix of workflows in lists of machines and instances. */
const prefix = "workflow/"

const execution = { name: "execution", summary: "WORKFLOW/ID, as `detent execution list` shows it" } as const

const start = command(
  {
    name: "execution start",
    summary: "start an execution of a workflow",
    detail:
      "A second start with the same id and payload returns the current state of the execution.\n" +
      "A server or `detent worker` runs it; follow it with `detent instance watch workflow/WORKFLOW/ID`.",
    arguments: [{ name: "workflow", summary: "the workflow's name; `detent machine show workflow/NAME` shows its payload" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the payload" },
      { name: "id", kind: "text", value: "ID", summary: "the id of the execution. Default: the workflow derives it from the payload" },
      keyOption,
    ],
    examples: [
      { line: `detent execution start checkout --with '{"orderId":"order-7"}'`, says: "the execution is stored when the command returns" },
      {
        line: `detent execution start reminder --id reminder-7 --with '{"to":"ada"}'`,
        says: "a workflow written as an async function needs an id",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const workflow = input.workflow.startsWith(prefix) ? input.workflow.slice(prefix.length) : input.workflow
      const payload = yield* fieldsOf(input.with)
      const server = yield* runningServer(input)
      const view = yield* Effect.provide(
        startExecution(server, { workflow, id: input.id, payload, key: input.key }),
        server === undefined ? acting(input) : observing(input),
      )
      yield* output.value(view, () => viewText(view, output.style))
      yield* notedWorker(input, server, view)
    }),
)

/** Notes that only a server or worker runs executions, where no server runs. */
const notedWorker = (place: Place, server: RunningServer | undefined, { ended }: { readonly ended: boolean }) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    if (server === undefined && !ended)
      yield* note(noteStyle.dim(`no server runs here; unless a worker does, start one: detent worker${placeText(place)}`))
  })

const list = command(
  {
    name: "execution list",
    summary: "executions, oldest change first",
    arguments: [{ name: "workflow", summary: "only executions of this workflow", optional: true }],
    options: [
      {
        name: "phase",
        kind: "text",
        value: "PHASE",
        choices: ["Waiting", "Running", "Compensating", "Suspended", "Held", "Completed", "Failed", "Interrupted"],
        summary: "only executions in this phase",
      },
      { name: "order", kind: "text", value: "ORDER", choices: ["oldest", "newest"], summary: "by the last change. Default: oldest first" },
      ...paging,
    ],
    examples: [{ line: "detent execution list checkout --phase Suspended", says: "executions that wait to be resumed" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { after } = yield* cursorFrom(input.after)
      const page = yield* executions.list({ workflow: input.workflow, phase: input.phase, order: input.order, limit: input.limit, after })
      yield* output.rows(
        page.executions,
        [
          { title: "EXECUTION", of: ({ workflow, id }) => `${workflow}/${id}`, looks: (text, _, style) => style.bold(text) },
          { title: "PHASE", of: ({ phase }) => phase },
          { title: "EVENTS", of: ({ events }) => events },
          { title: "STARTED", of: ({ startedAt }) => momentText(startedAt) },
          { title: "CHANGED", of: ({ updatedAt }) => momentText(updatedAt) },
          { title: "PROBLEM", of: ({ problem }) => problem ?? "" },
        ],
        "no executions",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${cursorText(page.next)}`)
    }).pipe(Effect.provide(observing(input))),
)

const show = command(
  {
    name: "execution show",
    summary: "the phase of an execution, and its latest events",
    arguments: [execution],
    options: [
      { name: "limit", kind: "integer", value: "N", default: 50, minimum: 1, summary: "at most this many events" },
      { name: "after", kind: "integer", value: "N", minimum: 0, summary: "only events after number N. Default: the latest events" },
    ],
    examples: [
      { line: "detent execution show checkout/4f1c2a", says: "its phase, its clocks and its events" },
      { line: "detent execution show checkout/4f1c2a --after 0", says: "starting with its first event" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { workflow, id } = yield* keyOf(input.execution)
      const view = yield* executions.get(workflow, id)
      const after = input.after ?? Math.max(0, view.events - input.limit)
      const { events, next } = yield* executions.history(workflow, id, { after, limit: input.limit })
      yield* output.value({ ...view, history: events }, () => viewText(view, output.style))
      if (output.isJson) return
      yield* output.write("\n")
      yield* output.rows(
        events,
        [
          { title: "#", of: ({ sequence }) => sequence },
          { title: "AT", of: ({ at }) => momentText(at) },
          { title: "EVENT", of: ({ event }) => event },
        ],
        "no events",
      )
      if (next !== undefined) yield* output.note(`more with --after ${next}`)
    }).pipe(Effect.provide(observing(input))),
)

const spans = command(
  {
    name: "execution spans",
    summary: "the timeline of an execution: its steps with their times and attempts, and its waits",
    arguments: [execution],
    options: [
      { name: "limit", kind: "integer", value: "N", default: 5000, minimum: 1, summary: "the spans of at most this many events" },
      { name: "after", kind: "integer", value: "N", default: 0, minimum: 0, summary: "only the spans of events after number N" },
    ],
    examples: [{ line: "detent execution spans checkout/4f1c2a", says: "how long each activity took" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { workflow, id } = yield* keyOf(input.execution)
      const page = yield* executionSpans(workflow, id, { after: input.after, limit: input.limit })
      yield* output.rows(
        page.spans,
        [
          { title: "#", of: ({ sequence }) => sequence },
          {
            title: "STEP",
            of: ({ kind, name }) => (kind === name ? kind : `${kind} ${name}`),
            looks: (text, _, style) => style.bold(text),
          },
          { title: "TRY", of: ({ attempt }) => attempt ?? "" },
          { title: "STARTED", of: ({ startedAt }) => (startedAt === undefined ? "" : momentText(startedAt)) },
          { title: "ENDED", of: ({ endedAt }) => (endedAt === undefined ? "" : momentText(endedAt)) },
          { title: "TOOK", of: tookText },
          { title: "OUTCOME", of: ({ outcome, due }) => outcome ?? (due === undefined ? "" : `due at ${momentText(due)}`) },
          { title: "NODE", of: ({ node }) => node ?? "" },
        ],
        "no steps",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)

const tookText = ({ startedAt, endedAt }: Span): string =>
  startedAt === undefined || endedAt === undefined ? "" : durationText(endedAt - startedAt)

type View = Effect.Success<ReturnType<typeof executions.get>>

const viewText = (view: View, style: Style): string =>
  pairsText(
    [
      ["execution", `${view.workflow}/${view.id}`],
      ["phase", view.phase],
      ["problem", view.problem],
      ["node", view.node],
      ["waits for", view.clocks.map(({ name, due }) => `${name} at ${momentText(due)}`).join(", ") || undefined],
      ["started", momentText(view.startedAt)],
      ["changed", momentText(view.updatedAt)],
    ],
    style,
  )

const send = command(
  {
    name: "execution send",
    summary: "send an event that an execution awaits, now or later",
    detail:
      "An execution takes each event once: the same value again changes nothing, and another value is refused.\n" +
      "A workflow written as an async function declares its `events`; detent.config.ts declares those of an Effect workflow.",
    arguments: [execution, { name: "event", summary: "the event's name; `detent machine show workflow/NAME` lists them" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's value" },
      { name: "before-start", kind: "flag", summary: "keep the event for an execution that is started later" },
      keyOption,
    ],
    examples: [
      { line: `detent execution send trip/trip-1 confirmed --with '{"by":"ada"}'`, says: "the event is stored when the command returns" },
      { line: `detent execution send trip/trip-1 confirmed --with '{"by":"ada"}' --key webhook-77`, says: "safe to repeat" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { workflow, id } = yield* keyOf(input.execution)
      const value = yield* valueOf(input.with)
      const server = yield* runningServer(input)
      const view = yield* Effect.provide(
        sendToExecution(server, { workflow, id, event: input.event, value, beforeStart: input["before-start"], key: input.key }),
        server === undefined ? acting(input) : observing(input),
      )
      yield* output.value(view, () => viewText(view, output.style))
      yield* notedWorker(input, server, view)
    }),
)

const resume = command(
  {
    name: "execution resume",
    summary: "resume an execution that is suspended or held",
    arguments: [execution],
    options: [keyOption],
    examples: [{ line: "detent execution resume checkout/4f1c2a", says: "after you have corrected the cause" }],
  },
  (input) => changed(input, "resume", Effect.void),
)

const interrupt = command(
  {
    name: "execution interrupt",
    summary: "interrupt an execution; its compensations run",
    arguments: [execution],
    options: [keyOption],
    examples: [{ line: "detent execution interrupt checkout/4f1c2a --yes", says: "without a question" }],
  },
  (input) => changed(input, "interrupt", agreed(`Interrupt ${input.execution}? No further activity starts, and its compensations run.`)),
)

const changed = <E>(
  input: Place & { readonly execution: string; readonly key: string | undefined },
  operation: "resume" | "interrupt",
  agreement: Effect.Effect<void, E, Output>,
) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { workflow, id } = yield* keyOf(input.execution)
    const server = yield* runningServer(input)
    return yield* Effect.gen(function* () {
      yield* executions.get(workflow, id)
      yield* agreement
      const view = yield* changeExecution(server, operation, { workflow, id, key: input.key })
      yield* output.value(view, () => viewText(view, output.style))
      yield* notedWorker(input, server, view)
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

/** Accepts `checkout/4f1c`, and `workflow/checkout/4f1c` as in lists of instances. */
const keyOf = (text: string): Effect.Effect<{ readonly workflow: string; readonly id: string }, WrongUsage> => {
  const name = text.startsWith(prefix) ? text.slice(prefix.length) : text
  const slash = name.indexOf("/")
  return slash > 0 && slash < name.length - 1
    ? Effect.succeed({ workflow: name.slice(0, slash), id: name.slice(slash + 1) })
    : Effect.fail(new WrongUsage({ problem: `${text} is not an execution`, nextStep: "write WORKFLOW/ID; see `detent execution list`" }))
}

export const noun = { name: "execution", summary: "executions of workflows: start, show, send events, resume, interrupt" }

export const commands = [start, list, show, spans, send, resume, interrupt]
