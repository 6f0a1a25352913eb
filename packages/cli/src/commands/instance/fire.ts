import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { addressOf, Started } from "../../instance/Sending.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { changed } from "../../workspace/Changing.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { instanceArgument, keyOption } from "../shared.ts"
import { noteWorker } from "./shared.ts"

export default command(
  {
    name: "instance fire",
    summary: "fire a timer of an instance now",
    arguments: [instanceArgument, { name: "timer", summary: "the timer's name, as `detent instance show` shows it" }],
    options: [keyOption],
    examples: [{ line: "detent instance fire order-7 'payment overdue'", says: "as if the timer were due" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const key = yield* instances.resolve(input.instance)
        const { machine, id, state } = yield* changed(
          server,
          {
            operation: "instances.fireTimer",
            params: { machine: key.machine, id: key.id, name: input.timer },
            path: `${addressOf(key)}/timers/${encodeURIComponent(input.timer)}/fire`,
            answer: Started,
            key: input.key,
          },
          instances.fireTimer(key, input.timer),
        )
        yield* output.value({ machine, id, state }, () => `${JSON.stringify(state)}\n`)
        yield* noteWorker(input, server, key)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)
