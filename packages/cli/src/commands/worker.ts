/** `detent worker`: resumes unfinished work, and executes commands. */

import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { isIdle } from "@detent/workspace/operations/work"
import type { WorkspaceOptions } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schedule from "effect/Schedule"
import { ExitCode } from "../ExitCode.mjs"
import { command } from "../line/Command.ts"
import { counted } from "../output/Count.ts"
import { Output } from "../output/Output.ts"
import { type Place, placeText, workingOnAll } from "../workspace/Opening.ts"
import { telemetry } from "../workspace/Telemetry.ts"
import { clusterOf, clusterOptions } from "./shared.ts"

export default command(
  {
    name: "worker",
    serves: true,
    summary: "a worker without a server: batches, uploads, commands, timers",
    detail:
      "Start as many as you like on one PostgreSQL, with the same --data: a folder of one machine, or a bucket for several machines.\n" +
      "On SIGTERM it releases unfinished work.",
    arguments: [],
    options: [
      {
        name: "until-idle",
        kind: "flag",
        summary: "exit when nothing is left to do; exit code 1 if a batch ended Failed or a command became a dead letter in this process",
      },
      ...clusterOptions,
    ],
    examples: [
      { line: "detent worker --data /srv/detent --database postgres://db/detent", says: "runs until it is stopped" },
      {
        line: "detent worker --data gs://results/detent --database postgres://db/detent",
        says: "works on any machine, since the files are in a bucket; s3:// works the same",
      },
      {
        line: "DETENT_CLUSTER_TOKEN=… detent worker --cluster 10.0.0.7:7700 --data gs://results/detent --database postgres://db/detent",
        says: "a node of a cluster: each instance has one owner",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const batches = new Set<string>()
      yield* worked(input, ({ batchId, _tag }) => (_tag === "Failed" ? batches.add(batchId) : batches.delete(batchId)))
      const { note } = yield* Output
      // Read after the worker has closed: only then are all commands counted.
      const commands = yield* failedHere
      if (batches.size === 0 && commands === 0) return yield* note("nothing is left to do")
      const here = placeText(input)
      const [first = ""] = batches
      const problems = [
        ...(batches.size === 0 ? [] : [`${counted(batches.size, "batch", "batches")} failed: detent batch show ${first}${here}`]),
        ...(commands === 0 ? [] : [`${counted(commands, "command")} failed for good: detent command list --status failed${here}`]),
      ]
      yield* note(`nothing is left to do, but ${problems.join("; and ")}`)
      return ExitCode.failed
    }),
)

type OnBatchEnd = NonNullable<WorkspaceOptions["onBatchEnd"]>

/** Works until nothing is left to do, or until stopped. `onBatchEnd` is only called with `--until-idle`; the log has all batches. */
const worked = (input: Place & { readonly "until-idle": boolean } & Parameters<typeof clusterOf>[0], onBatchEnd: OnBatchEnd) =>
  Effect.gen(function* () {
    const { data, database } = yield* CurrentWorkspace
    const { note } = yield* Output
    yield* note(`working in ${data} (${database}); stop with Ctrl-C: unfinished work is released`)
    if (!input["until-idle"]) return yield* Effect.never
    return yield* Effect.repeat(isIdle, { until: (idle) => idle, schedule: Schedule.spaced("250 millis") })
  }).pipe(Effect.provide(Layer.provideMerge(workingOnAll(input, clusterOf(input), input["until-idle"] ? { onBatchEnd } : {}), telemetry)))

/** The number of commands that became dead letters in this process. */
const failedHere = Effect.map(Metric.snapshot, (metrics) => {
  const counter = metrics.find(({ id }) => id === "detent_commands_failed_total")
  return counter?.type === "Counter" ? Number(counter.state.count) : 0
})
