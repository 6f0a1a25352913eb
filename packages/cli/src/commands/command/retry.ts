import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { counted } from "../../output/Count.ts"
import { Output } from "../../output/Output.ts"
import { changedHere, checkKey } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { filterOf, filterOptions, whichStep } from "./shared.ts"

export default command(
  {
    name: "command retry",
    summary: "execute failed commands again",
    arguments: [{ name: "command", summary: "the command's key; or choose several with the options", optional: true }],
    options: [
      ...filterOptions,
      { name: "all", kind: "flag", summary: "all failed commands" },
      { name: "force", kind: "flag", summary: "also commands whose instance has ended or would refuse the result" },
      { name: "dry-run", kind: "flag", summary: "only count the commands" },
      keyOption,
    ],
    examples: [
      { line: "detent command retry order/order-7/2/0", says: "one command, by its key" },
      { line: "detent command retry --slot sendMail --dry-run", says: "how many commands there are" },
      { line: "detent command retry --fingerprint 3f9c2a71b0d4 --since 1day --yes", says: "those of one cause, requested since yesterday" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const dryRun = input["dry-run"]
      const force = input.force
      const report = (count: number, refused = 0) =>
        Effect.gen(function* () {
          const given = { count, dryRun, ...(refused === 0 ? {} : { refused }) }
          yield* output.value(
            given,
            () => `${counted(count, "command")} ${dryRun ? "would be" : count === 1 ? "is" : "are"} executed again\n`,
          )
          if (refused === 0) return
          yield* output.note(`${counted(refused, "command")} not retried, since no instance would take the result; --force includes them`)
        })
      if (input.command !== undefined) {
        yield* checkKey(input.key)
        yield* operations.retryOnce({ command: input.command, force, dryRun, key: input.key })
        yield* report(1)
        if (dryRun) return
      } else {
        const filter = yield* filterOf(input)
        if (Object.keys(filter).length === 0 && !input.all)
          return yield* new WrongUsage({ problem: "which commands?", nextStep: whichStep })
        const { count, refused } = yield* operations.retryAll(filter, { dryRun: true, force })
        if (dryRun || (count === 0 && input.key === undefined)) return yield* report(count, refused)
        yield* agreed(`Execute ${counted(count, "failed command")} again?`)
        const json = { ...filter, ...(force ? { force } : {}) }
        const change = { operation: "commands.retryAll", params: {}, json, key: input.key }
        yield* report((yield* changedHere(change, operations.retryAll(filter, { dryRun: false, force }))).count, refused)
      }
      yield* output.note(output.noteStyle.dim("`detent dev`, `detent serve` or `detent worker` executes them"))
    }).pipe(Effect.provide(observing(input))),
)
