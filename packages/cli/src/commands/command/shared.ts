import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import type { Option } from "../../line/Command.ts"
import { rangeOf } from "../../output/Moment.ts"
import { range } from "../shared.ts"

interface Chosen {
  readonly queue: string | undefined
  readonly slot: string | undefined
  readonly machine: string | undefined
  readonly instance: string | undefined
  readonly fingerprint: string | undefined
  readonly number: string | undefined
  readonly since: string | undefined
  readonly until: string | undefined
}

export const filterOf = (chosen: Chosen) =>
  Effect.gen(function* () {
    const { queue, slot, machine, instance, fingerprint } = chosen
    const number = yield* numbersOf(chosen.number)
    const { since: enqueuedAfter, until: enqueuedBefore } = yield* rangeOf(chosen)
    return {
      ...optional({ queue, slot, machine, fingerprint, number, enqueuedAfter, enqueuedBefore }),
      ...(instance === undefined ? {} : yield* instances.resolve(instance)),
    }
  })

/** The numbers of commands, separated by commas. */
const numbersOf = (text: string | undefined) =>
  Effect.gen(function* () {
    if (text === undefined) return undefined
    const numbers = text.split(",").map(Number)
    if (numbers.every((one) => Number.isSafeInteger(one) && one > 0)) return numbers
    return yield* new WrongUsage({
      problem: `--number ${text} is not a list of numbers`,
      nextStep: "write it like 17,18; `detent command list --json` shows the number of each command",
    })
  })

/** The options of `filterOf`. */
export const filterOptions = [
  { name: "queue", kind: "text", value: "NAME", summary: "only commands of this queue" },
  { name: "slot", kind: "text", value: "NAME", summary: "only commands of this effect slot" },
  { name: "machine", kind: "text", value: "NAME", summary: "only commands of instances of this machine" },
  { name: "instance", kind: "text", value: "MACHINE/ID", summary: "only commands of this instance" },
  { name: "fingerprint", kind: "text", value: "CAUSE", summary: "only commands with this cause, as `detent command groups` shows it" },
  { name: "number", kind: "text", value: "N,...", summary: "only the commands of these numbers, as --json shows them" },
  ...range("requested"),
] as const satisfies ReadonlyArray<Option>

/** A failure that the instance has handled is not a dead letter. */
export const statusText = (status: string): string => (status === "handled" ? "failed, handled" : status)

export const whichStep = "name a key, --queue, --slot, --machine, --instance, --fingerprint, --number, --since, or --all"

/** The errors of executions before the last one. */
export const earlierText = (
  errors: ReadonlyArray<{ readonly attempt: number; readonly problem: string }>,
  last: string | undefined,
): string =>
  errors
    .slice(0, errors.at(-1)?.problem === last ? -1 : undefined)
    .map(({ attempt, problem }) => `try ${attempt}: ${problem}`)
    .join("; ")
