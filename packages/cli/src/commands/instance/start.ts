import * as Effect from "effect/Effect"
import { fieldsOf } from "../../instance/Fields.ts"
import { startInstance } from "../../instance/Sending.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption, machineArgument } from "../shared.ts"
import { noteWorker } from "./shared.ts"

export default command(
  {
    name: "instance start",
    summary: "start an instance of a machine",
    arguments: [machineArgument, { name: "id", summary: "the id of the new instance" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the fields of the first state" },
      { name: "state", kind: "text", value: "STATE", summary: "begin in this state, with all its fields. Default: the first state" },
      keyOption,
    ],
    examples: [
      {
        line: `detent instance start order order-7 --with '{"item":"lamp","total":42}'`,
        says: "the instance is stored when the command returns",
      },
      {
        line: `detent instance start order order-8 --state Paid --with '{"item":"lamp","total":42}'`,
        says: "for an import of existing orders",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const fields = input.with === undefined ? undefined : yield* fieldsOf(input.with)
      const server = yield* runningServer(input)
      const { machine, id, state, key } = input
      yield* Effect.gen(function* () {
        const started = yield* startInstance(server, { machine, id, fields, state, key })
        yield* output.value(started, () => `${JSON.stringify(started.state)}\n`)
        yield* noteWorker(input, server, started)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)
