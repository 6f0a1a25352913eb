import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { fieldsOf } from "../../instance/Fields.ts"
import { addressOf, Started } from "../../instance/Sending.ts"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { Output } from "../../output/Output.ts"
import { changed } from "../../workspace/Changing.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { instanceArgument, keyOption } from "../shared.ts"
import { noteWorker } from "./shared.ts"

export default command(
  {
    name: "instance repair",
    summary: "replace a stored event that no longer fits the definition, and release a held instance",
    arguments: [
      instanceArgument,
      { name: "sequence", summary: "the number of the event, as the error and the history show it" },
      { name: "event", summary: "the event's name" },
    ],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's fields; ••• keeps the stored value of a sensitive field" },
      { name: "reason", kind: "text", value: "TEXT", summary: "why; the journal keeps it with the original event and who replaced it" },
      { name: "dry-run", kind: "flag", summary: "only check whether the instance would then replay" },
      keyOption,
    ],
    examples: [
      { line: `detent instance repair order-7 1 Pay --with '{"transactionId":"t-9"}' --yes`, says: "the later events are replayed on it" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const sequence = Number(input.sequence)
      if (!Number.isSafeInteger(sequence) || sequence < 1)
        return yield* new WrongUsage({
          problem: `${input.sequence} is not a number of an event`,
          nextStep: "see `detent instance history`",
        })
      const fields = yield* fieldsOf(input.with)
      if (input["dry-run"]) {
        const trying = Effect.flatMap(instances.resolve(input.instance), (key) =>
          instances.repair(key, sequence, { ...fields, _tag: input.event }, { dryRun: true }),
        )
        yield* Effect.provide(trying, observing(input))
        return yield* output.value({ repaired: false, dryRun: true }, () => "it would replay; nothing was changed\n")
      }
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const key = yield* instances.resolve(input.instance)
        yield* agreed(`Replace event ${sequence} of ${key.machine}/${key.id} by ${input.event}?`)
        const event = { ...fields, _tag: input.event }
        const { state } = yield* changed(
          server,
          {
            operation: "instances.repair",
            params: { machine: key.machine, id: key.id },
            path: `${addressOf(key)}/repair`,
            json: { sequence, event, ...optional({ reason: input.reason }) },
            answer: Started,
            key: input.key,
          },
          instances.repair(key, sequence, event, optional({ reason: input.reason })),
        )
        yield* output.value({ machine: key.machine, id: key.id, state }, () => `${JSON.stringify(state)}\n`)
        yield* noteWorker(input, server, key)
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)
