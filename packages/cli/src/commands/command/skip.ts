import * as operations from "@detent/workspace/operations/commands"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { agreed, asked } from "../../output/Asking.ts"
import { counted } from "../../output/Count.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { filterOf, filterOptions, whichStep } from "./shared.ts"

export default command(
  {
    name: "command skip",
    summary: "skip commands, and store the reason",
    arguments: [{ name: "command", summary: "the command's key; or choose several with the options", optional: true }],
    options: [
      { name: "reason", kind: "text", value: "TEXT", summary: "the reason; on a terminal, the command asks for it" },
      ...filterOptions,
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["failed", "pending"],
        default: "failed",
        summary: "without a key: skip failed or pending commands",
      },
      { name: "all", kind: "flag", summary: "all commands with this status" },
      { name: "dry-run", kind: "flag", summary: "only count the commands" },
      keyOption,
    ],
    examples: [
      { line: 'detent command skip order/order-7/2/0 --reason "refunded by hand" --yes', says: "the command will not be executed" },
      { line: "detent command skip --fingerprint 3f9c2a71b0d4 --dry-run", says: "how many commands have one cause" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { command: key, status, "dry-run": dryRun } = input
      const chosen = yield* filterOf(input)
      const filter = { ...chosen, status }
      const isMany = key === undefined
      if (isMany && Object.keys(chosen).length === 0 && !input.all)
        return yield* new WrongUsage({ problem: "which commands?", nextStep: whichStep })
      if (!isMany && (input.all || Object.keys(chosen).length > 0))
        return yield* new WrongUsage({
          problem: `${key} names one command, and the options choose several`,
          nextStep: "name a key, or choose by options, not both",
        })
      const standing = isMany ? undefined : yield* operations.get(key)
      const { count } = standing === undefined ? yield* operations.skipAll({ filter, reason: "", dryRun: true }) : countOf(standing)
      const report = (given: number) =>
        output.value({ count: given, dryRun }, () => `${counted(given, "command")} ${dryRun ? "would be " : ""}skipped\n`)
      if (dryRun || (isMany && count === 0 && input.key === undefined)) return yield* report(count)
      if (input.reason === undefined && !output.canAsk)
        return yield* new WrongUsage({ problem: "the reason is missing", nextStep: 'give it with --reason "…"' })
      const reason = input.reason ?? (yield* asked("Why? "))
      if (isMany) {
        yield* agreed(`Skip ${counted(count, "command")}? They will not be executed.`)
        const change = { operation: "commands.skipAll", params: {}, json: { filter, reason }, key: input.key }
        return yield* report((yield* changedHere(change, operations.skipAll({ filter, reason }))).count)
      }
      yield* agreed(`Skip ${key}? It will not be executed.`)
      const change = { operation: "commands.skip", params: { key }, json: { reason }, key: input.key }
      yield* output.value(yield* changedHere(change, operations.skip(key, reason)), () => `${key} skipped: ${reason}\n`)
    }).pipe(Effect.provide(observing(input))),
)

/** Only a failed or pending command can be skipped. */
const countOf = ({ status }: { readonly status: string }) => ({ count: status === "failed" || status === "pending" ? 1 : 0 })
