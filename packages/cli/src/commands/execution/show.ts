import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { execution, keyOf, viewText } from "./shared.ts"

export default command(
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
