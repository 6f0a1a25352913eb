/**
 * `detent activity`: runs one activity for a job runner, with name and input from the environment and the result on stdout. With
 * ACTIVITY_KEY it is a task of a queue, which fails permanently after ACTIVITY_ATTEMPTS attempts.
 */

import { folderAt } from "@detent/blobs/StorageLocation"
import { ActivityName, runActivity } from "@detent/knowledge/Activities"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { deliver } from "@detent/workspace/operations/activities"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"
import { command } from "../line/Command.ts"
import { Output } from "../output/Output.ts"
import { knowledge } from "../workspace/Opening.ts"
import { telemetry } from "../workspace/Telemetry.ts"

export default command(
  {
    name: "activity",
    summary: "run one activity and exit; started by a job runner or Cloud Tasks",
    detail:
      "Default for the name: ACTIVITY_NAME. Default for the input: ACTIVITY_INPUT. The result is JSON on stdout.\n" +
      "It uses the configuration of its batch and reports to it: activities complete a batch of `batch run --dispatch activities`.\n" +
      "With ACTIVITY_KEY it is a task of a queue: a late task does nothing and exits with 0; a permanent failure is a dead letter.\n" +
      "With OTEL_EXPORTER_OTLP_ENDPOINT it sends its metrics, traces and logs to that collector before it exits.",
    arguments: [
      { name: "name", summary: "the activity", choices: ["extraction", "resolution", "validation", "ingestion"], optional: true },
    ],
    options: [{ name: "input", kind: "text", value: "JSON", summary: "the activity's input" }],
    examples: [
      {
        line: `detent activity extraction --input '{"batchId":"batch-3f9c2a71b0d4","documentId":"doc-1a2b3c4d5e6f","sourceUri":"file:///…","ontologyUri":"file:///…"}'`,
        says: "with the same input again, it returns the stored result",
      },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const name = yield* nameOf(input.name ?? process.env["ACTIVITY_NAME"])
      const given = yield* inputOf(input.input ?? process.env["ACTIVITY_INPUT"])
      const key = process.env["ACTIVITY_KEY"]
      return yield* Effect.gen(function* () {
        if (key !== undefined && key !== "") {
          const outcome = yield* deliver(name, given, { key, isLast: isLastAttempt() })
          return yield* output.write(`${JSON.stringify(outcome)}\n`)
        }
        const { data } = yield* CurrentWorkspace
        const result = yield* runActivity(folderAt(data), name, given)
        yield* output.write(`${JSON.stringify(result)}\n`)
      }).pipe(Effect.provide(Layer.provideMerge(knowledge.activity(input), telemetry)))
    }),
)

/** Cloud Run counts the attempts of a job from 0. Default: one attempt. */
const isLastAttempt = (): boolean => {
  const attempt = Number(process.env["CLOUD_RUN_TASK_ATTEMPT"] ?? 0)
  const attempts = Number(process.env["ACTIVITY_ATTEMPTS"] ?? 1)
  return !(attempt + 1 < attempts)
}

const nameOf = (text: string | undefined): Effect.Effect<ActivityName, WrongUsage> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(ActivityName)(text),
    () =>
      new WrongUsage({
        problem: text === undefined ? "no activity was named" : `there is no activity ${text}`,
        nextStep: "name extraction, resolution, validation or ingestion, or set ACTIVITY_NAME",
      }),
  )

const inputOf = (text: string | undefined): Effect.Effect<unknown, WrongUsage> =>
  text === undefined
    ? Effect.fail(new WrongUsage({ problem: "the input is missing", nextStep: "give it as JSON with --input, or set ACTIVITY_INPUT" }))
    : Effect.mapError(
        Schema.decodeEffect(Schema.fromJsonString(Schema.Unknown))(text),
        () => new WrongUsage({ problem: "the input is not JSON", nextStep: "see `detent activity --help` for an example" }),
      )
