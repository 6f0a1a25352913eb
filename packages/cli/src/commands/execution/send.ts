import * as Effect from "effect/Effect"
import { sendToExecution } from "../../execution/changeExecution.ts"
import { valueOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { execution, keyOf, noteWorker, viewText } from "./shared.ts"

export default command(
  {
    name: "execution send",
    summary: "send an event that an execution awaits, now or later",
    detail:
      "An execution takes each event once: the same value again changes nothing, and another value is refused.\n" +
      "A workflow written as an async function declares its `events`; detent.config.ts declares those of an Effect workflow.",
    arguments: [execution, { name: "event", summary: "the event's name; `detent machine show workflow/NAME` lists them" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the event's value" },
      { name: "before-start", kind: "flag", summary: "keep the event for an execution that is started later" },
      keyOption,
    ],
    examples: [
      { line: `detent execution send trip/trip-1 confirmed --with '{"by":"ada"}'`, says: "the event is stored when the command returns" },
      { line: `detent execution send trip/trip-1 confirmed --with '{"by":"ada"}' --key webhook-77`, says: "safe to repeat" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { workflow, id } = yield* keyOf(input.execution)
      const value = yield* valueOf(input.with)
      const server = yield* runningServer(input)
      const view = yield* Effect.provide(
        sendToExecution(server, { workflow, id, event: input.event, value, beforeStart: input["before-start"], key: input.key }),
        server === undefined ? acting(input) : observing(input),
      )
      yield* output.value(view, () => viewText(view, output.style))
      yield* noteWorker(input, server, view)
    }),
)
