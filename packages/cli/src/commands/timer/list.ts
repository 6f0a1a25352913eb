import { RetryPolicy } from "@detent/machine"
import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"

export default command(
  {
    name: "timer list",
    summary: "dead timers: those that repeatedly failed to fire",
    detail: `A timer that fails to fire is tried again. Default: ${RetryPolicy.summary(RetryPolicy.standard)}.`,
    arguments: [],
    options: [{ name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many timers" }],
    examples: [{ line: "detent timer list", says: "each with its error" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* operations.deadTimers(input.limit),
        [
          { title: "MACHINE", of: ({ machine }) => machine },
          { title: "ID", of: ({ id }) => id },
          { title: "TIMER", of: ({ name }) => name },
          { title: "DUE", of: ({ due }) => momentText(due) },
          { title: "TRIES", of: ({ attempts }) => attempts },
          { title: "PROBLEM", of: ({ problem }) => problem },
        ],
        "no timer was given up",
      )
    }).pipe(Effect.provide(observing(input))),
)
