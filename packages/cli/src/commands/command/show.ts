import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { pairsText } from "../../output/Table.ts"
import { observing } from "../../workspace/Opening.ts"
import { earlierText, statusText } from "./shared.ts"

export default command(
  {
    name: "command show",
    summary: "one command: its status, attempts and problems",
    detail: "Only --json shows its parameters; sensitive parameters are hidden.",
    arguments: [{ name: "command", summary: "the command's key, as `detent command list` shows it" }],
    options: [],
    examples: [{ line: "detent command show order/order-7/2/0", says: "why each attempt failed" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* operations.get(input.command)
      const { key, slot, queue, machine, id, status, attempts, round, problem, errors = [], runAt, enqueuedAt, finishedAt, worker } = found
      yield* output.value(found, () =>
        pairsText(
          [
            ["command", key],
            ["effect", slot],
            ["queue", queue],
            ["instance", machine === undefined ? undefined : `${machine}/${id}`],
            ["status", statusText(status), (text) => (status === "failed" ? output.style.red(text) : text)],
            ["tries", round === undefined ? attempts : `${attempts}, retry ${round}`],
            ["problem", problem],
            ["earlier", earlierText(errors, problem) || undefined],
            ["worker", worker],
            ["requested", momentText(enqueuedAt)],
            ["due", status === "pending" ? momentText(runAt) : undefined],
            ["finished", finishedAt === undefined ? undefined : momentText(finishedAt)],
          ],
          output.style,
        ),
      )
    }).pipe(Effect.provide(observing(input))),
)
