import * as instances from "@detent/workspace/operations/instances"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { agreed } from "../../output/Asking.ts"
import { counted } from "../../output/Count.ts"
import { durationIn } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { changed } from "../../workspace/Changing.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption, machineArgument } from "../shared.ts"

export default command(
  {
    name: "instance purge",
    summary: "remove instances that ended long ago, with their histories",
    detail:
      "An instance with an unfinished or failed command stays. Instances of a machine with `.persist({ retention })` are purged automatically.",
    arguments: [machineArgument],
    options: [
      {
        name: "ended-before",
        kind: "text",
        value: "DURATION",
        summary: "only instances that ended at least this long ago, such as 30days or 12hours",
      },
      { name: "dry-run", kind: "flag", summary: "only count the instances" },
      keyOption,
    ],
    examples: [
      { line: "detent instance purge order --ended-before 30days --dry-run", says: "how many instances there are" },
      { line: "detent instance purge order --ended-before 30days --yes", says: "removes them permanently" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { machine, "dry-run": dryRun } = input
      const endedBefore = yield* durationOf(input["ended-before"])
      const report = ({ count }: Purged) =>
        output.value(
          { machine, count, dryRun },
          () => `${counted(count, "instance")} ${dryRun ? "would be" : count === 1 ? "was" : "were"} removed\n`,
        )
      const found = yield* Effect.provide(instances.purge({ machine, endedBefore, dryRun: true }), observing(input))
      if (dryRun || (found.count === 0 && input.key === undefined)) return yield* report(found)
      yield* agreed(
        `Remove ${counted(found.count, "instance")} of ${machine} that ended at least ${input["ended-before"]} ago, with their histories?`,
      )
      const server = yield* runningServer(input)
      const purged = changed(
        server,
        {
          operation: "instances.purge",
          params: { machine },
          path: `/api/v1/machines/${encodeURIComponent(machine)}/purge`,
          json: { endedBeforeMillis: Duration.toMillis(endedBefore) },
          answer: Purged,
          key: input.key,
        },
        instances.purge({ machine, endedBefore, dryRun: false }),
      )
      yield* report(yield* Effect.provide(purged, server === undefined ? acting(input) : observing(input)))
    }),
)

/** The part of the server's answer that is shown. */
const Purged = Schema.Struct({ count: Schema.Int })

type Purged = typeof Purged.Type

const durationOf = (text: string | undefined) => {
  const duration = durationIn(text)
  if (Option.isSome(duration)) return Effect.succeed(duration.value)
  return Effect.fail(
    new WrongUsage({
      problem: text === undefined ? "--ended-before is missing" : `--ended-before ${text} is not a duration`,
      nextStep: "write a whole number and a unit, such as 30days, 12hours or 90minutes",
    }),
  )
}
