/** `detent worker`: goes on with whatever is unfinished, and executes what is requested. */
import { Commands, Journal } from "@detent/durable"
import { Home } from "@detent/server/Home"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Handler } from "../Handler.ts"
import { workingOnAll } from "../home/Opening.ts"
import { Output } from "../output/Output.ts"

export const worker: Handler<"worker"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { data, database } = yield* Home
    yield* output.note(`working in ${data} (${database}); stop with Ctrl-C: what is unfinished is handed back`)
    if (input["until-idle"]) {
      yield* Effect.repeat(isIdle, { until: (idle) => idle, schedule: Schedule.spaced("250 millis") })
      return yield* output.note("nothing is left to do")
    }
    return yield* Effect.never
  }).pipe(Effect.provide(workingOnAll(input)))

/** No instance whose state has work, and no command that waits or is being executed. */
const isIdle = Effect.gen(function* () {
  const counts = yield* Effect.flatMap(Commands, (commands) => commands.counts)
  if (counts.some(({ status, count }) => (status === "pending" || status === "processing") && count > 0)) return false
  const { instances } = yield* Effect.flatMap(Journal, (journal) => journal.list({ resident: true, status: "running" }, 1))
  return instances.length === 0
})
