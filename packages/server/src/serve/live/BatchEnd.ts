/** Whether a batch has ended and its last event is in the log: the event follows its state after a moment. */
import { Commands } from "@detent/durable"
import { Batches, type BatchId, BatchMachine, isTerminal } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type BatchStatus, statusOf } from "../../api/BatchStatus.ts"

/** Returns the final status once all events of the batch are in the log. None before, and after the batch was resumed. */
export const makeBatchEnd = Effect.gen(function* () {
  const batches = yield* Batches
  const commands = yield* Commands
  return (batch: BatchId) =>
    Effect.gen(function* () {
      const state = yield* batches.state(batch)
      if (!isTerminal(state)) return Option.none<BatchStatus>()
      // Events are emitted by commands of this or an earlier state: each is in the log when its command is done.
      const requested = yield* commands.ofInstance({ machine: BatchMachine.name, id: batch })
      const isTold = requested.every(({ status }) => status !== "pending" && status !== "processing")
      return isTold ? Option.some(statusOf(state)) : Option.none<BatchStatus>()
    })
})
