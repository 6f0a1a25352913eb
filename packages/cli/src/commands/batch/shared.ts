import type { BatchId, BatchState } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import { batchIdOf } from "../../batch/BatchSource.ts"
import { agreed } from "../../output/Asking.ts"
import { knowledge, type Place } from "../../workspace/Opening.ts"
import { type RunningServer, runningServerWith } from "../../workspace/Server.ts"

const { acting, observing } = knowledge

export const batch = { name: "batch", summary: "the batch's id, as `detent batch list` shows it" } as const

/** Asks for confirmation, then changes an existing batch: through the server of the workspace, or in this process without a server. */
export const afterAsking = <A, E, R>(
  input: Place & { readonly batch: string },
  question: (state: BatchState) => string,
  change: (server: RunningServer | undefined, id: BatchId) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const id = yield* batchIdOf(input.batch)
    const server = yield* runningServerWith(input, "knowledge")
    return yield* Effect.gen(function* () {
      yield* agreed(question(yield* operations.state(id)))
      return yield* change(server, id)
    }).pipe(Effect.provide(server === undefined ? acting(input) : observing(input)))
  })

/** `operation` is its name in the API. */
export const changeOf = (
  operation: "cancel" | "retry" | "resume" | "raiseBudget" | "withdraw",
  batchId: BatchId,
  key: string | undefined,
) => ({
  operation: `batches.${operation}`,
  params: { batchId },
  path: `/api/v1/batch/${batchId}/${operation === "raiseBudget" ? "budget" : operation}`,
  key,
})
