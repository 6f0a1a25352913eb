import * as Effect from "effect/Effect"
import { WrongUsage } from "../../Failure.ts"
import { command } from "../../line/Command.ts"
import { momentOf } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { backfillSchedule } from "../../schedule/changeSchedule.ts"
import { runningServer } from "../../workspace/Server.ts"
import { keyOption } from "../shared.ts"
import { changingAt, notedWorker, schedule } from "./shared.ts"

export default command(
  {
    name: "schedule backfill",
    summary: "start the times of a range in the past, except those that were started",
    detail: "The runs follow each other: at most 1,000 with one command.",
    arguments: [schedule],
    options: [
      { name: "from", kind: "text", value: "TIME", summary: "the beginning, such as 2026-11-16 or 2026-11-16T09:30:00Z" },
      { name: "to", kind: "text", value: "TIME", summary: "the end, which counts" },
      keyOption,
    ],
    examples: [
      {
        line: "detent schedule backfill nightly-close --from 2026-11-16 --to 2026-11-18T23:59:59Z",
        says: "the nights of three days",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const from = yield* momentOf("from", input.from)
      const to = yield* momentOf("to", input.to)
      if (from === undefined || to === undefined)
        return yield* new WrongUsage({ problem: "the range is not complete", nextStep: "give --from and --to" })
      const server = yield* runningServer(input)
      const request = { name: input.schedule, from, to, key: input.key }
      const counted = yield* Effect.provide(backfillSchedule(server, request), changingAt(input, server))
      yield* output.value(counted, () => `${counted.count} times of ${input.schedule} are started one after another\n`)
      yield* notedWorker(input, server)
    }),
)
