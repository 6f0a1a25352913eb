import { CommandStatus } from "@detent/api/StoredCommand"
import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { filterOf, filterOptions } from "./shared.ts"

export default command(
  {
    name: "command groups",
    summary: "dead letters by cause, largest group first",
    detail: "Commands of one queue and effect slot whose problems differ only in numbers, ids and quoted words form one group.",
    arguments: [],
    options: [
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: CommandStatus.literals,
        default: "failed",
        summary: "commands that have a problem and this status",
      },
      ...filterOptions,
    ],
    examples: [
      { line: "detent command groups", says: "each cause, with the number of its commands" },
      { line: "detent command retry --fingerprint 3f9c2a71b0d4", says: "then retry all commands of one cause" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { status } = input
      const found = yield* operations.groups({ status, ...(yield* filterOf(input)) })
      yield* output.rows(
        found.groups,
        [
          { title: "CAUSE", of: ({ fingerprint }) => fingerprint },
          { title: "COMMANDS", of: ({ count }) => count },
          { title: "EFFECT", of: (one) => one.slot },
          { title: "QUEUE", of: (one) => one.queue },
          { title: "FIRST", of: ({ firstAt }) => momentText(firstAt) },
          { title: "LAST", of: ({ lastAt }) => momentText(lastAt) },
          { title: "PROBLEM", of: ({ problem }) => problem },
        ],
        `no command is ${status} with a problem`,
      )
      if (found.scanned !== undefined) yield* output.note(`only the first ${found.scanned} commands were examined`)
    }).pipe(Effect.provide(observing(input))),
)
