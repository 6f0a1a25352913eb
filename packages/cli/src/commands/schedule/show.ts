import * as operations from "@detent/workspace/operations/schedules"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { resultText, schedule, viewText } from "./shared.ts"

export default command(
  {
    name: "schedule show",
    summary: "the next times of a schedule, and its latest runs with their results",
    arguments: [schedule],
    options: [],
    examples: [{ line: "detent schedule show nightly-close", says: "its next five times and its latest 20 runs" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const view = yield* operations.get(input.schedule)
      yield* output.value(view, () => viewText(view, output.style))
      if (output.isJson) return
      yield* output.write("\n")
      yield* output.rows(
        view.runs,
        [
          { title: "TIME", of: ({ at }) => momentText(at) },
          { title: "BY", of: ({ reason }) => reason },
          { title: "OUTCOME", of: ({ outcome }) => outcome },
          { title: "STARTED", of: ({ target }) => (target === undefined ? "" : `${target.kind} ${target.name}/${target.id}`) },
          { title: "RESULT", of: resultText },
        ],
        "no runs yet",
      )
    }).pipe(Effect.provide(observing(input))),
)
