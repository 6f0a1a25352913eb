import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { ExitCode } from "../../ExitCode.mjs"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { oneLine, type Style } from "../../output/Style.ts"
import { observing, placeText } from "../../workspace/Opening.ts"
import { instanceArgument } from "../shared.ts"
import { eventText } from "./shared.ts"

export default command(
  {
    name: "instance watch",
    summary: "follow the events of an instance until it ends; does no work itself",
    detail:
      "Shows events from any process: a server, a worker, another terminal. Ctrl-C stops following; the instance continues.\n" +
      "Also follows executions, as workflow/NAME/ID. Exits with 1 if the instance ends in failure.",
    arguments: [instanceArgument],
    options: [{ name: "after", kind: "integer", value: "N", minimum: 0, summary: "begin after event number N. Default: the latest event" }],
    examples: [
      { line: "detent instance watch order-7", says: "new events only" },
      { line: "detent instance watch order-7 --after 0 --json", says: "all events, one JSON line each" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const key = yield* instances.resolve(input.instance)
      const name = `${key.machine}/${key.id}`
      const standing = yield* instances.record(key)
      let last = Math.min(input.after ?? standing.sequence, standing.sequence)
      if (!instances.hasEnded(standing.status))
        yield* output.note(output.noteStyle.dim(`${name} is ${standing.tag}; its last event is ${standing.sequence}`))
      const shown = Stream.runForEach(instances.watch(key, { after: last }), (row) => {
        last = row.sequence
        return output.value(row, () => eventLine(row, output.style))
      })
      yield* Effect.onInterrupt(shown, () =>
        output.note(
          `No longer watching; the instance is not affected. Watch again with: detent instance watch ${name} --after ${last}${placeText(input)}`,
        ),
      )
      const end = yield* instances.describe(key)
      yield* output.note(`${name} has ended: it is ${end.tag}`)
      if (!isFailure(end)) return ExitCode.ok
      if (key.machine.startsWith("workflow/")) yield* output.note(`see why: detent execution show ${name}${placeText(input)}`)
      return ExitCode.failed
    }).pipe(Effect.provide(observing(input))),
)

const eventLine = ({ sequence, at, event, from, state }: instances.HistoryRow, style: Style): string => {
  const { _tag, ...fields } = event
  const way = from === undefined || state === undefined ? "" : from === state._tag ? from : `${from} -> ${state._tag}`
  const given = Object.keys(fields).length === 0 ? "" : JSON.stringify(fields)
  const parts = [style.dim(`${sequence}  ${momentText(at)}`), style.bold(oneLine(eventText(event))), oneLine(way), oneLine(given)]
  return `${parts.filter((part) => part !== "").join("  ")}\n`
}

/** For executions, the phase decides. */
const isFailure = ({ machine, tag, outcome }: { readonly machine: string; readonly tag: string; readonly outcome?: "failure" }): boolean =>
  outcome === "failure" || (machine.startsWith("workflow/") && tag !== "Completed")
