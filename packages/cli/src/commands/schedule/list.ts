import * as operations from "@detent/workspace/operations/schedules"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"
import { resultText, timesText } from "./shared.ts"

export default command(
  {
    name: "schedule list",
    summary: "schedules, each with its next time and its latest run",
    arguments: [],
    options: [...paging],
    examples: [{ line: "detent schedule list", says: "what starts when, and what became of the latest run" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const page = yield* operations.list({ limit: input.limit, after: input.after })
      yield* output.rows(
        page.schedules,
        [
          { title: "SCHEDULE", of: ({ name }) => name, looks: (text, _, style) => style.bold(text) },
          { title: "", of: ({ status }) => (status === "paused" ? status : ""), looks: (text, _, style) => style.yellow(text) },
          { title: "TIMES", of: timesText },
          { title: "NEXT", of: ({ next: [next] }) => (next === undefined ? "" : momentText(next)) },
          { title: "LATEST", of: ({ runs: [run] }) => (run === undefined ? "" : momentText(run.at)) },
          { title: "RESULT", of: ({ runs: [run] }) => (run === undefined ? "" : resultText(run)) },
        ],
        "no schedules; declare them as schedules in detent.config.ts",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)
