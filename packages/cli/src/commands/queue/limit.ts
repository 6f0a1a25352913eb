import * as operations from "@detent/workspace/operations/commands"
import { optional } from "@detent/workspace/optional"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { durationIn } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { limitQueue } from "../../queue/limitQueue.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { checkName, limitsText, queue, type Rate } from "./shared.ts"

const none = "none"

export default command(
  {
    name: "queue limit",
    summary: "limit the commands of a queue, of each of its groups or of one group, that all workers together execute",
    arguments: [queue],
    options: [
      { name: "concurrency", kind: "text", value: "N", summary: "commands executed at the same time; none: no limit" },
      { name: "rate", kind: "text", value: "N/TIME", summary: "commands started within a time, such as 10/1minute; none: no limit" },
      {
        name: "per-group-concurrency",
        kind: "text",
        value: "N",
        summary: "commands of each group executed at the same time; none: no limit",
      },
      { name: "per-group-rate", kind: "text", value: "N/TIME", summary: "commands of each group started within a time; none: no limit" },
      {
        name: "group",
        kind: "text",
        value: "GROUP",
        summary: "gives this group the limits of --concurrency and --rate in place of those of each group; none: those of each group apply",
      },
      keyOption,
    ],
    examples: [
      { line: "detent queue limit mails --concurrency 2 --rate 100/1minute", says: "sets both limits; an omitted limit is unchanged" },
      { line: "detent queue limit mails --rate none", says: "removes the limit" },
      { line: "detent queue limit mails --per-group-concurrency 2", says: "no tenant has more than two commands in flight" },
      { line: "detent queue limit mails --group acme --concurrency 8", says: "this tenant may have eight" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const own = optional({
        concurrency: yield* concurrencyOf("concurrency", input.concurrency),
        rate: yield* rateOf("rate", input.rate),
      })
      const perGroup = optional({
        concurrency: yield* concurrencyOf("per-group-concurrency", input["per-group-concurrency"]),
        rate: yield* rateOf("per-group-rate", input["per-group-rate"]),
      })
      const { queue, group, key } = input
      yield* checkName(queue)
      if (group === undefined && Object.keys(own).length === 0 && Object.keys(perGroup).length === 0)
        return yield* new WrongUsage({ problem: "no limit was given", nextStep: "give --concurrency, --rate or a limit per group" })
      const known = (yield* operations.queues).find((one) => one.queue === queue)?.perGroup
      const each = Object.keys(perGroup).length === 0 ? {} : { perGroup: { ...known, ...perGroup } }
      const limited = yield* limitQueue({ queue, group, key, ...own, ...each })
      yield* output.value(limited, () =>
        "group" in limited
          ? `${queue}, group ${limited.group}: ${limitsText(limited)}\n`
          : `${queue}: ${limitsText(limited)}${limited.perGroup === undefined ? "" : `; each group: ${limitsText(limited.perGroup)}`}\n`,
      )
    }).pipe(Effect.provide(observing(input))),
)

const concurrencyOf = (option: string, text: string | undefined): Effect.Effect<number | null | undefined, WrongUsage> => {
  if (text === undefined || text === none) return Effect.succeed(text === none ? null : undefined)
  return /^[1-9]\d{0,8}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({ problem: `--${option} ${text} is not a limit`, nextStep: "write a whole number of at least 1, or none" }),
      )
}

const rateOf = (option: string, text: string | undefined): Effect.Effect<Rate | null | undefined, WrongUsage> => {
  if (text === undefined || text === none) return Effect.succeed(text === none ? null : undefined)
  const [, limit, time] = /^([1-9]\d{0,8})\/(.+)$/.exec(text) ?? []
  const interval = Option.map(durationIn(time), Duration.toMillis)
  return limit !== undefined && Option.isSome(interval) && interval.value >= 1
    ? Effect.succeed({ limit: Number(limit), intervalMillis: interval.value })
    : Effect.fail(
        new WrongUsage({
          problem: `--${option} ${text} is not a limit`,
          nextStep: "write a number and a time, such as 10/1minute, or none",
        }),
      )
}
