import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { valueOf } from "../../instance/Fields.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { defineSchedule } from "../../schedule/changeSchedule.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { changingAt, notedWorker, viewText } from "./shared.ts"

export default command(
  {
    name: "schedule create",
    summary: "create or change a schedule that starts a declared target",
    detail:
      "The code declares with `scheduleTarget` what may be started; the times are given here.\n" +
      "A schedule that the code declares is changed in the code. Earlier runs of a changed schedule stay.",
    arguments: [{ name: "name", summary: "the name of the schedule" }],
    options: [
      { name: "target", kind: "text", value: "NAME", summary: "the target that it starts" },
      { name: "with", kind: "text", value: "JSON", summary: "the input of the target" },
      { name: "cron", kind: "text", value: "FIELDS", summary: 'minute, hour, day of month, month, day of week, such as "0 2 * * *"' },
      { name: "timezone", kind: "text", value: "ZONE", summary: "of --cron, such as Europe/Berlin. Default: UTC" },
      { name: "every", kind: "text", value: "TIME", summary: 'instead of --cron: an interval, such as "15 minutes"' },
      {
        name: "overlap",
        kind: "text",
        value: "POLICY",
        choices: ["skip", "queue", "cancelPrevious", "allow"],
        summary: "while the run before has not ended. Default: skip",
      },
      {
        name: "catch-up",
        kind: "text",
        value: "POLICY",
        choices: ["none", "latest", "all"],
        summary: "which times that passed while no process ran are started. Default: latest",
      },
      { name: "jitter", kind: "text", value: "TIME", summary: 'start each run later by up to this, such as "5 minutes"' },
      keyOption,
    ],
    examples: [
      {
        line: `detent schedule create ada-weekly --target report --with '{"customer":"ada"}' --cron "0 8 * * 1" --timezone Europe/Berlin`,
        says: "every Monday at eight in Berlin",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { target, cron, timezone, every, overlap, "catch-up": catchUp, jitter, key, name } = input
      if (target === undefined)
        return yield* new WrongUsage({
          problem: "no target was given",
          nextStep: "give --target with a name that the code declares with scheduleTarget",
        })
      const server = yield* runningServer(input)
      const made = yield* valueOf(input.with)
      const request = { name, key, target, input: made, cron, timezone, every, overlap, catchUp, jitter }
      const view = yield* Effect.provide(defineSchedule(server, request), changingAt(input, server))
      yield* output.value(view, () => viewText(view, output.style))
      yield* notedWorker(input, server)
    }),
)
