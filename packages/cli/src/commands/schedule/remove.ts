import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { Output } from "../../output/Output.ts"
import { removeSchedule } from "../../schedule/changeSchedule.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { changingAt, schedule } from "./shared.ts"

export default command(
  {
    name: "schedule remove",
    summary: "remove a schedule",
    detail: "A schedule that the code declares comes back at the next start of a process that declares it.",
    arguments: [schedule],
    options: [keyOption],
    examples: [{ line: "detent schedule remove ada-weekly --yes", says: "it starts nothing any more" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { schedule: name, key } = input
      yield* agreed(`Remove ${name}? It starts nothing any more.`)
      const server = yield* runningServer(input)
      yield* Effect.provide(removeSchedule(server, { name, key }), changingAt(input, server))
      yield* output.value({ removed: name }, () => `${name} is removed\n`)
    }),
)
