/** The batch machine with its stages. An error that ends a stage becomes the batch's failure. */

import type { ReadError } from "@detent/durable"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { timedStage } from "../KnowledgeMetrics.ts"
import { cancelledWithBatch } from "../runs/Extractions.ts"
import { describe } from "../storage/Describe.ts"
import { BatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import { Storage, type StorageError } from "../storage/Storage.ts"
import { blobIn, type StorageFolder } from "../storage/Uri.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { BatchMachine, E } from "./BatchMachine.ts"
import { type BatchFault, type BatchState, BatchStateJson, type S, type Stage } from "./BatchState.ts"
import { endRuns, extractDocuments } from "./ExtractionStage.ts"
import { addToGraph, resolveEntities, takeBack, validateGraph, withdrawGraph } from "./GraphStages.ts"
import { dispatchStage } from "./StageDispatch.ts"

/** Files of batches are stored below the folder. `stateOf` reads the stored state of a batch; undefined when the batch was removed. */
export const batchMachine = (folder: StorageFolder, stateOf: (id: BatchId) => Effect.Effect<BatchState | undefined, ReadError>) =>
  BatchMachine.build({
    emitBatchEvent: ({ event }) => Effect.orDie(Effect.flatMap(BatchEventLog, (log) => log.emit(event))),
    writeStatus: (_, { id }) => Effect.orDie(writeStatus(folder, stateOf(BatchId.make(id)))),
    processDocuments: ({ state }, { self }) =>
      Effect.onInterrupt(
        timed(
          "extracting",
          extractDocuments(folder, state, {
            counted: (counts) => self.send(E.DocumentsCounted(counts)),
            retried: (failuresSince) => self.send(E.DocumentsRetried({ failuresSince })),
          }),
        ),
        () => endCancelled(state, stateOf(state.batchId)),
      ),
    runResolution: ({ state }) => timed("resolving", resolveEntities(folder, state)),
    runValidation: ({ state }) => timed("validating", validateGraph(folder, state)),
    runIngestion: ({ state }) => timed("ingesting", ingestGraph(folder, state)),
    endWork: ({ state }) => Effect.orDie(endWork(folder, state)),
    takeBackFacts: ({ state }) => Effect.orDie(takeBackFacts(folder, state, stateOf(state.batchId))),
    // The activities measure how long their stage takes.
    dispatchStage: ({ state }) => failing(dispatchStage(state)),
  })

/** Fails with the batch's fault. Not on an interrupt: a cancel has changed the state, and after a process stop the stage is resumed. */
const failing = <A, Failure, R>(work: Effect.Effect<A, Failure, R>): Effect.Effect<A, BatchFault, R> =>
  Effect.catchCause(work, (cause) => (Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(faultOf(cause))))

const timed = <A, Failure, R>(stage: Stage, work: Effect.Effect<A, Failure, R>) => failing(timedStage(stage, work))

/**
 * Ends the running work of a cancelled batch, and removes the facts it had added. Idempotent. A process that is stopping ends the
 * runs first, since it may be the last one that works on the batch.
 */
export const endWork = (folder: StorageFolder, state: typeof S.Cancelled.Type) =>
  Effect.andThen(
    Effect.uninterruptible(endRuns(state, cancelledWithBatch(state.attempt))),
    state.cancelledInStage === "ingesting" ? Effect.asVoid(withdrawGraph(folder, state)) : Effect.void,
  )

/**
 * Restores the graph on failure, before the batch becomes `Failed`. Not on an interrupt: after a cancel, the state `Cancelled` withdraws
 * the added facts; after a process stop, the ingestion is resumed.
 */
const ingestGraph = (folder: StorageFolder, state: typeof S.Ingesting.Type) =>
  Effect.onError(addToGraph(folder, state), (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.void
      : Effect.catchCause(takeBack(folder, state), (problem) =>
          Effect.logDebug(
            `batch ${state.batchId}: its facts could not be removed from the graph, and are removed after it has failed`,
            problem,
          ),
        ),
  )

/** Removes the facts of a failed batch, except when it was resumed since: then the new attempt replaces them. */
const takeBackFacts = (folder: StorageFolder, failed: typeof S.Failed.Type, stored: Effect.Effect<BatchState | undefined, ReadError>) =>
  Effect.gen(function* () {
    const now = yield* stored
    if (now?._tag === "Failed" && now.attempt === failed.attempt) yield* takeBack(folder, failed)
  })

/**
 * When another process has cancelled the batch, ends its runs before the work of this process ends: a process that only follows the
 * batch stops then. Not interruptible, and takes no longer than the run store waits for its database. Runs that cannot be ended now are
 * ended by the next process that works on the batch.
 */
const endCancelled = ({ batchId, attempt }: typeof S.Extracting.Type, stored: Effect.Effect<BatchState | undefined, ReadError>) =>
  Effect.gen(function* () {
    const now = yield* stored
    if (now?._tag === "Cancelled") yield* endRuns({ batchId }, cancelledWithBatch(attempt))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logDebug(`batch ${batchId}: its runs could not be ended, and are ended by the next process that works on it`, cause),
    ),
  )

/** Writes `status.json`. Of two concurrent writers, the later one may write an older state; it then sees the newer one and writes again. */
export const writeStatus = (
  folder: StorageFolder,
  state: Effect.Effect<BatchState | undefined, ReadError>,
): Effect.Effect<void, ReadError | StorageError, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    let current = yield* state
    while (current !== undefined) {
      const written = current
      const json = yield* Effect.orDie(Schema.encodeEffect(BatchStateJson)(written))
      yield* storage.set(blobIn(folder, pathsOfBatch(written.batchId).status), json)
      const now: BatchState | undefined = yield* state
      current = now?._tag === written._tag && now.updatedAt === written.updatedAt ? undefined : now
    }
  })

const faultOf = (cause: Cause.Cause<unknown>): BatchFault => {
  const error = Cause.squash(cause)
  const led = causeOf(error)
  if (typeof error !== "object" || error === null || !("_tag" in error)) return { code: "Defect", message: describe(error), ...led }
  // Some library errors have an empty message and a cause with the text.
  const said = describe(error) === "" && "cause" in error ? error.cause : error
  return { code: "code" in error ? String(error.code) : String(error._tag), message: describe(said), ...led }
}

/** How many nested causes are followed. */
const mostCauses = 5

/** The causes of an error, the nearest first, without the error's own message. */
const causeOf = (error: unknown): Pick<BatchFault, "cause"> => {
  const said: Array<string> = []
  let one = error
  while (typeof one === "object" && one !== null && "cause" in one && one.cause !== undefined && said.length < mostCauses) {
    one = one.cause
    said.push(describe(one))
  }
  const causes = said.filter((text) => text !== "" && text !== describe(error))
  return causes.length === 0 ? {} : { cause: causes.join(": ") }
}
