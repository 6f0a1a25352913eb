import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { countText } from "../../machine/MachineView.ts"
import { Output } from "../../output/Output.ts"
import { observing } from "../../workspace/Opening.ts"
import { limitsText, rateText } from "./shared.ts"

export default command(
  {
    name: "queue list",
    summary: "queues of commands, with the number of commands of each status",
    arguments: [],
    options: [],
    examples: [{ line: "detent queue list", says: "paused queues, and the number of pending commands" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      yield* output.rows(
        yield* operations.queues,
        [
          { title: "QUEUE", of: ({ queue }) => queue },
          { title: "", of: ({ paused }) => (paused ? "paused" : ""), looks: (text, _, style) => style.yellow(text) },
          { title: "CONCURRENCY", of: ({ concurrency }) => String(concurrency ?? "") },
          { title: "RATE", of: ({ rate }) => (rate === undefined ? "" : rateText(rate)) },
          { title: "EACH GROUP", of: ({ perGroup }) => (perGroup === undefined ? "" : limitsText(perGroup)) },
          { title: "WORKERS", of: ({ workers }) => workers.length },
          { title: "COMMANDS", of: ({ counts }) => countText(counts) || "none" },
        ],
        "no queues",
      )
    }).pipe(Effect.provide(observing(input))),
)
