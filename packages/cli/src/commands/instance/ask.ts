import * as Effect from "effect/Effect"
import { fieldsOf } from "../../instance/Fields.ts"
import { askQuestion } from "../../instance/Sending.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { instanceArgument } from "../shared.ts"

export default command(
  {
    name: "instance ask",
    summary: "ask a question, and print the answer as JSON; final states answer too",
    arguments: [instanceArgument, { name: "question", summary: "the name of an event with a reply" }],
    options: [{ name: "with", kind: "text", value: "JSON", summary: "the event's fields" }],
    examples: [
      { line: "detent instance ask order-7 GetTotal", says: "an event that only has a reply changes nothing and is not journaled" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const fields = yield* fieldsOf(input.with)
      const server = yield* runningServer(input)
      const answer = yield* askQuestion(server, { instance: input.instance, event: input.question, fields }).pipe(
        Effect.provide(server === undefined ? acting(input) : observing(input)),
      )
      yield* output.value(answer, () => `${JSON.stringify(answer)}\n`)
    }),
)
