/** `detent worker`: resumes everything that is unfinished, and executes commands. */
import { isIdle } from "@detent/workspace/operations/work"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import { command } from "../line/Command.ts"
import { ExitCode } from "../line/ExitCode.mjs"
import { Output } from "../output/Output.ts"
import { type Place, placeText, workingOnAll } from "../workspace/Opening.ts"
import { telemetry } from "../workspace/Telemetry.ts"
import { clusterOf, clusterOptions } from "./shared.ts"

const worker = command(
  {
    name: "worker",
    serves: true,
    summary: "a worker without a server: batches, uploads, commands, timers",
    detail: "Start as many as you like on one PostgreSQL. On SIGTERM it hands back what it has not finished.",
    arguments: [],
    options: [
      { name: "until-idle", kind: "flag", summary: "end when there is nothing left to do: with 1 where a command failed for good" },
      ...clusterOptions,
    ],
    examples: [
      { line: "detent worker --database postgres://db/detent", says: "until it is stopped" },
      {
        line: "DETENT_CLUSTER_TOKEN=… detent worker --cluster 10.0.0.7:7700 --database postgres://db/detent",
        says: "each instance on one node",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      yield* worked(input)
      const { note } = yield* Output
      // Not before the worker has ended: only then all that became of commands is counted.
      const failed = yield* failedHere
      if (failed === 0) return yield* note("nothing is left to do")
      const list = `detent command list --status failed${placeText(input)}`
      yield* note(`nothing is left to do, but ${failed} ${failed === 1 ? "command" : "commands"} failed for good: ${list}`)
      return ExitCode.failed
    }),
)

/** Until nothing is left to do, or until it is stopped. */
const worked = (input: Place & { readonly "until-idle": boolean } & Parameters<typeof clusterOf>[0]) =>
  Effect.gen(function* () {
    const { data, database } = yield* Workspace
    const { note } = yield* Output
    yield* note(`working in ${data} (${database}); stop with Ctrl-C: what is unfinished is handed back`)
    if (!input["until-idle"]) return yield* Effect.never
    return yield* Effect.repeat(isIdle, { until: (idle) => idle, schedule: Schedule.spaced("250 millis") })
  }).pipe(Effect.provide(Layer.provideMerge(workingOnAll(input, clusterOf(input)), telemetry)))

/** How many commands this process executed that failed for good: those from before it began are no news. */
const failedHere = Effect.map(Metric.snapshot, (metrics) => {
  const counted = metrics.find(({ id }) => id === "detent_commands_failed_total")
  return counted?.type === "Counter" ? Number(counted.state.count) : 0
})

export const commands = [worker]
