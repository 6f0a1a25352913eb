/** Whether a batch has come to its end and all of it is told: what it tells last follows a moment after its state. */
import { Commands } from "@detent/durable"
import { Batches, type BatchId, BatchMachine, isTerminal } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type BatchStatus, statusOf } from "../../api/BatchStatus.ts"

/** How it ended, once nothing more will be told of it unless somebody sets it going again; none before. */
export const makeBatchEnd = Effect.gen(function* () {
  const batches = yield* Batches
  const commands = yield* Commands
  return (batch: BatchId) =>
    Effect.gen(function* () {
      const state = yield* batches.state(batch)
      if (!isTerminal(state)) return Option.none<BatchStatus>()
      // Requested with that state or before, each is in the log when it is done.
      const requested = yield* commands.ofInstance({ machine: BatchMachine.name, id: batch })
      const isTold = requested.every(({ status }) => status !== "pending" && status !== "processing")
      return isTold ? Option.some(statusOf(state)) : Option.none<BatchStatus>()
    })
})
