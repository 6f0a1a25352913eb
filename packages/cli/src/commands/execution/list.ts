import * as executions from "@detent/workspace/operations/executions"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { cursorFrom, cursorText } from "../../workspace/Cursor.ts"
import { observing } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"

export default command(
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
