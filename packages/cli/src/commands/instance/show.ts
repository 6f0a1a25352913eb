import { actorText } from "@detent/durable"
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { pairsText } from "../../output/Table.ts"
import { observing } from "../../workspace/Opening.ts"
import { instanceArgument } from "../shared.ts"
import { delayText, statusLooks, statusText, unregisteredText } from "./shared.ts"

export default command(
  {
    name: "instance show",
    summary: "the state of an instance, and the events that it accepts now",
    arguments: [instanceArgument],
    options: [{ name: "at", kind: "integer", value: "N", summary: "show the state after event number N" }],
    examples: [{ line: "detent instance show order/order-7 --at 2", says: "the state after its second event" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { tag, ...view } = yield* instances.describe(yield* instances.resolve(input.instance), input.at)
      yield* output.value(view, () =>
        pairsText(
          [
            ["machine", view.machine],
            ["id", view.id],
            ["state", typeof view.state === "string" ? tag : JSON.stringify(view.state)],
            ["status", statusText(view), (text) => statusLooks(text, text, output.style)],
            ["reason", view.reason],
            ["problem", problemText(view.misfit)],
            ["events", view.at === undefined ? view.sequence : `${view.at} of ${view.sequence}`],
            ["accepts", view.accepts === undefined ? undefined : view.accepts.join(", ") || "nothing more"],
            [
              "timers",
              view.timers.length === 0 ? undefined : view.timers.map(({ name, due }) => `${name} at ${momentText(due)}`).join(", "),
            ],
            ["delays", view.delays?.map(delayText).join(", ")],
            ["started", momentText(view.startedAt)],
            ["started by", view.startedBy === undefined ? undefined : actorText(view.startedBy)],
            ["forked", forkText(view.forkedFrom)],
            ["changed", view.updatedAt === undefined ? undefined : momentText(view.updatedAt)],
          ],
          output.style,
        ),
      )
      const next = nextStepOf(view)
      if (next !== undefined) yield* output.note(next)
    }).pipe(Effect.provide(observing(input))),
)

interface Shown {
  readonly machine: string
  readonly id: string
  readonly status: string
  readonly at?: number
  readonly misfit?: { readonly sequence: number; readonly problem: string }
  readonly registered?: false
}

const problemText = (misfit: Shown["misfit"]): string | undefined =>
  misfit === undefined
    ? undefined
    : `${misfit.sequence === 0 ? "its first state" : `event ${misfit.sequence}`} does not fit the definition: ${misfit.problem}`

const nextStepOf = ({ machine, id, status, at, misfit, registered }: Shown): string | undefined => {
  if (registered === false) return unregisteredText(machine)
  if (misfit !== undefined) {
    const correct = "correct the definition or add upcasters"
    const repair = misfit.sequence === 0 ? "" : `, or replace the event: detent instance repair ${machine}/${id} ${misfit.sequence} EVENT`
    return `It cannot run: ${correct}${repair}`
  }
  if (status !== "held" || at !== undefined) return undefined
  return "It fits the definition again: the next start of `detent worker`, `detent dev` or `detent serve`, or the next event, releases it"
}

/** What the instance was forked from, when, and by whom. */
const forkText = (
  from: { readonly id: string; readonly sequence: number; readonly at: number; readonly by?: string } | undefined,
): string | undefined =>
  from === undefined
    ? undefined
    : `from ${from.id} after event ${from.sequence}, ${momentText(from.at)}${from.by === undefined ? "" : `, by ${from.by}`}`
