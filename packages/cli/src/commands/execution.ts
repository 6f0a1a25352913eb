/** `detent execution`: executions of Effect workflows. */
import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import { changeExecution } from "../execution/changeExecution.ts"
import { WrongUsage } from "../Failure.ts"
import type { Handler } from "../Handler.ts"
import { agreed } from "../output/Asking.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import type { Style } from "../output/Style.ts"
import { pairsText } from "../output/Table.ts"
import { cursorFrom, cursorText } from "../workspace/Cursor.ts"
import { acting, observing, type Place, placeText } from "../workspace/Opening.ts"
import { runningServer } from "../workspace/Server.ts"

export const list: Handler<"execution list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { after } = yield* cursorFrom(input.after)
    const page = yield* executions.list({ workflow: input.workflow, phase: input.phase, limit: input.limit, after })
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
  }).pipe(Effect.provide(observing(input)))

export const show: Handler<"execution show"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { workflow, id } = yield* keyOf(input.execution)
    const view = yield* executions.get(workflow, id)
    const { events } = yield* executions.history(workflow, id, { after: Math.max(0, view.events - input.limit), limit: input.limit })
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
  }).pipe(Effect.provide(observing(input)))

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

export const resume: Handler<"execution resume"> = (input) => changed(input, "resume", Effect.void)

export const interrupt: Handler<"execution interrupt"> = (input) =>
  changed(input, "interrupt", agreed(`Interrupt ${input.execution}? No further activity starts, and its compensations run.`))

const changed = <E>(
  input: Place & { readonly execution: string },
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
      const view = yield* changeExecution(server, operation, workflow, id)
      yield* output.value(view, () => viewText(view, output.style))
      if (server === undefined && !view.ended)
        yield* output.note(output.noteStyle.dim(`no server runs here; it goes on with: detent worker${placeText(input)}`))
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

/** `checkout/4f1c`, or `workflow/checkout/4f1c` as lists of instances show it. */
const keyOf = (text: string): Effect.Effect<{ readonly workflow: string; readonly id: string }, WrongUsage> => {
  const name = text.startsWith("workflow/") ? text.slice("workflow/".length) : text
  const slash = name.indexOf("/")
  return slash > 0 && slash < name.length - 1
    ? Effect.succeed({ workflow: name.slice(0, slash), id: name.slice(slash + 1) })
    : Effect.fail(new WrongUsage({ problem: `${text} is no execution`, nextStep: "write WORKFLOW/ID; see `detent execution list`" }))
}
