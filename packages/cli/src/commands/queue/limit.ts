import * as operations from "@detent/workspace/operations/commands"
import { optional } from "@detent/workspace/optional"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { durationIn } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { checkName, queue, type Rate, rateText } from "./shared.ts"

const none = "none"

export default command(
  {
    name: "queue limit",
    summary: "limit the commands of a queue that all workers together execute",
    arguments: [queue],
    options: [
      { name: "concurrency", kind: "text", value: "N", summary: "commands executed at the same time; none: no limit" },
      { name: "rate", kind: "text", value: "N/TIME", summary: "commands started within a time, such as 10/1minute; none: no limit" },
      keyOption,
    ],
    examples: [
      { line: "detent queue limit mails --concurrency 2 --rate 100/1minute", says: "sets both limits; an omitted limit is unchanged" },
      { line: "detent queue limit mails --rate none", says: "removes the limit" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const change = optional({ concurrency: yield* concurrencyOf(input.concurrency), rate: yield* rateOf(input.rate) })
      if (Object.keys(change).length === 0)
        return yield* new WrongUsage({ problem: "no limit was given", nextStep: "give --concurrency or --rate" })
      const { queue } = input
      yield* checkName(queue)
      const limited = yield* changedHere(
        { operation: "commands.limit", params: { queue }, json: change, key: input.key },
        operations.limitQueue(queue, change),
      )
      yield* output.value(limited, () => `${queue}: ${limitsText(limited)}\n`)
    }).pipe(Effect.provide(observing(input))),
)

const concurrencyOf = (text: string | undefined): Effect.Effect<number | null | undefined, WrongUsage> => {
  if (text === undefined || text === none) return Effect.succeed(text === none ? null : undefined)
  return /^[1-9]\d{0,8}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({ problem: `--concurrency ${text} is not a limit`, nextStep: "write a whole number of at least 1, or none" }),
      )
}

const rateOf = (text: string | undefined): Effect.Effect<Rate | null | undefined, WrongUsage> => {
  if (text === undefined || text === none) return Effect.succeed(text === none ? null : undefined)
  const [, limit, time] = /^([1-9]\d{0,8})\/(.+)$/.exec(text) ?? []
  const interval = Option.map(durationIn(time), Duration.toMillis)
  return limit !== undefined && Option.isSome(interval) && interval.value >= 1
    ? Effect.succeed({ limit: Number(limit), intervalMillis: interval.value })
    : Effect.fail(
        new WrongUsage({ problem: `--rate ${text} is not a limit`, nextStep: "write a number and a time, such as 10/1minute, or none" }),
      )
}

interface Limits {
  readonly concurrency?: number
  readonly rate?: Rate
}

const limitsText = ({ concurrency, rate }: Limits): string =>
  [
    concurrency === undefined ? "no concurrency limit" : `concurrency ${concurrency}`,
    rate === undefined ? "no rate limit" : rateText(rate),
  ].join(", ")
