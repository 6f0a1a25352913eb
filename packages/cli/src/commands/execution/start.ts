import * as Effect from "effect/Effect"
import { startExecution } from "../../execution/changeExecution.ts"
import { fieldsOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { noteWorker, prefix, viewText } from "./shared.ts"

export default command(
  {
    name: "execution start",
    summary: "start an execution of a workflow",
    detail:
      "A second start with the same id and payload returns the current state of the execution.\n" +
      "A server or `detent worker` runs it; follow it with `detent instance watch workflow/WORKFLOW/ID`.",
    arguments: [{ name: "workflow", summary: "the workflow's name; `detent machine show workflow/NAME` shows its payload" }],
    options: [
      { name: "with", kind: "text", value: "JSON", summary: "the payload" },
      { name: "id", kind: "text", value: "ID", summary: "the id of the execution. Default: the workflow derives it from the payload" },
      keyOption,
    ],
    examples: [
      { line: `detent execution start checkout --with '{"orderId":"order-7"}'`, says: "the execution is stored when the command returns" },
      {
        line: `detent execution start reminder --id reminder-7 --with '{"to":"ada"}'`,
        says: "a workflow written as an async function needs an id",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const workflow = input.workflow.startsWith(prefix) ? input.workflow.slice(prefix.length) : input.workflow
      const payload = yield* fieldsOf(input.with)
      const server = yield* runningServer(input)
      const view = yield* Effect.provide(
        startExecution(server, { workflow, id: input.id, payload, key: input.key }),
        server === undefined ? acting(input) : observing(input),
      )
      yield* output.value(view, () => viewText(view, output.style))
      yield* noteWorker(input, server, view)
    }),
)
