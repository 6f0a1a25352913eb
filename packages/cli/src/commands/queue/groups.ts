import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { paging } from "../shared.ts"
import { checkName, limitsText, queue } from "./shared.ts"

/** Pending commands are counted up to this number. */
const mostCounted = 1000

export default command(
  {
    name: "queue groups",
    summary: "the groups of a queue that have commands to execute, or limits of their own",
    arguments: [queue],
    options: [...paging],
    examples: [{ line: "detent queue groups mails", says: "how many commands of each tenant wait and run" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* checkName(input.queue)
      const page = yield* operations.queueGroups(input.queue, input.limit, input.after)
      yield* output.rows(
        page.groups,
        [
          { title: "GROUP", of: ({ group }) => group, looks: (text, _, style) => style.bold(text) },
          { title: "PENDING", of: ({ pending }) => (pending >= mostCounted ? `${mostCounted} or more` : pending) },
          { title: "RUNNING", of: ({ running }) => running },
          { title: "OWN LIMITS", of: ({ own }) => (own === undefined ? "" : limitsText(own)) },
        ],
        "no groups; a group exists while commands that were enqueued with it can be executed",
      )
      if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)
