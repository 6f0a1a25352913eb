import { spans as executionSpans, type Span } from "@detent/workspace/operations/executionSpans"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { durationText, momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { execution, keyOf } from "./shared.ts"

export default command(
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
