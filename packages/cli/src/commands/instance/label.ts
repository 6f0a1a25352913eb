import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { changeLabels } from "../../instance/changeLabels.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { acting, observing } from "../../workspace/Opening.ts"
import { runningServer } from "../../workspace/Server.ts"
import { instanceArgument, keyOption } from "../shared.ts"

/** The labels of `incident=42`; `incident=` removes it. */
const labelsIn = (given: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(given, (one): Effect.Effect<readonly [string, string | null], WrongUsage> => {
      const sign = one.indexOf("=")
      if (sign > 0) return Effect.succeed([one.slice(0, sign), sign === one.length - 1 ? null : one.slice(sign + 1)])
      const problem = `${JSON.stringify(one.slice(0, 40))} is no label`
      return Effect.fail(new WrongUsage({ problem, nextStep: "write NAME=VALUE, or NAME= to remove it" }))
    }),
    (labels): Readonly<Record<string, string | null>> => Object.fromEntries(labels),
  )

export default command(
  {
    name: "instance label",
    summary: "set and remove labels of an instance",
    arguments: [instanceArgument, { name: "labels", many: true, summary: "NAME=VALUE, or NAME= to remove the label" }],
    options: [keyOption],
    examples: [
      { line: "detent instance label order-7 incident=42 team=ops", says: "find it later with --where label.incident=42" },
      { line: "detent instance label order-7 incident=", says: "remove a label" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const labels = yield* labelsIn(input.labels)
      const server = yield* runningServer(input)
      return yield* Effect.gen(function* () {
        const labelled = yield* changeLabels(server, { instance: input.instance, labels, key: input.key })
        yield* output.value(labelled, () =>
          Object.entries(labelled.labels)
            .map(([name, value]) => `${name}=${value}\n`)
            .join(""),
        )
      }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
    }),
)
