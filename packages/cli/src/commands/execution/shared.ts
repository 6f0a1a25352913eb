import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import { changeExecution } from "../../execution/changeExecution.ts"
import { WrongUsage } from "../../Failure.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import type { Style } from "../../output/Style.ts"
import { pairsText } from "../../output/Table.ts"
import { acting, observing, type Place, placeText } from "../../workspace/Opening.ts"
import { type RunningServer, runningServer } from "../../workspace/Server.ts"

/** The prefix of workflows in lists of machines and instances. */
export const prefix = "workflow/"

export const execution = { name: "execution", summary: "WORKFLOW/ID, as `detent execution list` shows it" } as const

/** Notes that only a server or worker runs executions, where no server runs. */
export const noteWorker = (place: Place, server: RunningServer | undefined, { ended }: { readonly ended: boolean }) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    if (server === undefined && !ended)
      yield* note(noteStyle.dim(`no server runs here; unless a worker does, start one: detent worker${placeText(place)}`))
  })

type View = Effect.Success<ReturnType<typeof executions.get>>

export const viewText = (view: View, style: Style): string =>
  pairsText(
    [
      ["execution", `${view.workflow}/${view.id}`],
      ["phase", view.phase],
      ["problem", view.problem],
      ["node", view.node],
      ["waits for", view.clocks.map(({ name, due }) => `${name} at ${momentText(due)}`).join(", ") || undefined],
      ["started", momentText(view.startedAt)],
      ["changeState", momentText(view.updatedAt)],
    ],
    style,
  )

export const changeState = <E>(
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
      yield* noteWorker(input, server, view)
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

/** Accepts `checkout/4f1c`, and `workflow/checkout/4f1c` as in lists of instances. */
export const keyOf = (text: string): Effect.Effect<{ readonly workflow: string; readonly id: string }, WrongUsage> => {
  const name = text.startsWith(prefix) ? text.slice(prefix.length) : text
  const slash = name.indexOf("/")
  return slash > 0 && slash < name.length - 1
    ? Effect.succeed({ workflow: name.slice(0, slash), id: name.slice(slash + 1) })
    : Effect.fail(new WrongUsage({ problem: `${text} is not an execution`, nextStep: "write WORKFLOW/ID; see `detent execution list`" }))
}
