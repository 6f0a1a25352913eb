/** Starts a batch from a manifest or a folder: through the server that works in the workspace, or here where none does. */
import { type BatchConfig, BatchId, type ManifestRefused } from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"
import type { RunningServer } from "../workspace/Server.ts"
import { problemOfOption, type SourceInput, sourceOf } from "./BatchSource.ts"

const Accepted = Schema.Struct({ batchId: BatchId })

export const startBatch = (
  server: RunningServer | undefined,
  input: SourceInput,
  config: Partial<Pick<BatchConfig, "failurePolicy" | "concurrency" | "validation">>,
) =>
  Effect.gen(function* () {
    const { folder, manifest } = yield* sourceOf(input)
    if (server === undefined) return (yield* batches.start({ folder, manifest, config })).batchId
    const answer = yield* server.post("/api/v1/batch", { json: { folder, manifest, config } })
    return (yield* Schema.decodeUnknownEffect(Accepted)(answer)).batchId
  }).pipe(
    Effect.catchTags({
      ManifestRefused: (refused) => Effect.fail(ofOption(input, refused)),
      WrongUsage: (refused) => Effect.fail(ofOption(input, refused)),
    }),
  )

const ofOption = <E extends ManifestRefused | WrongUsage>(input: SourceInput, refused: E): E | WrongUsage => {
  const problem = problemOfOption(input, refused.problem)
  return problem === undefined ? refused : new WrongUsage({ problem, nextStep: "then start again" })
}
