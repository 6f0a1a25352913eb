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
    name: "instance fork",
    summary: "create an instance with the history of another up to an event",
    detail: "Commands that the original instance requested are not executed again.",
    arguments: [instanceArgument, { name: "id", summary: "the id of the new instance" }],
    options: [{ name: "through", kind: "integer", value: "N", summary: "the last event to copy. Default: all events" }, keyOption],
    examples: [
      { line: "detent instance fork order-7 order-7-again --through 2", says: "begins in the state of order-7 after its second event" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const key = yield* instances.resolve(input.instance)
        const through = input.through ?? (yield* instances.record(key)).sequence
        const { machine, id, state } = yield* changed(
          server,
          {
            operation: "instances.fork",
            params: { machine: key.machine, id: key.id },
            path: `${addressOf(key)}/fork`,
            json: { id: input.id, sequence: through },
            answer: Started,
            key: input.key,
          },
          instances.fork(key, through, input.id),
        )
        yield* output.value({ machine, id, state }, () => `${JSON.stringify(state)}\n`)
        yield* noteWorker(input, server, { machine, id })
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)
