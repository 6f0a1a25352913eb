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

/** Files of batches go below the folder. `stateOf` reads the state of a batch as it is stored now; undefined where it is gone. */
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

/** An interrupt is a cancel, which has changed the state, or a stop of the process, after which the stage is taken up again. */
const failing = <A, Failure, R>(work: Effect.Effect<A, Failure, R>): Effect.Effect<A, BatchFault, R> =>
  Effect.catchCause(work, (cause) => (Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(faultOf(cause))))

const timed = <A, Failure, R>(stage: Stage, work: Effect.Effect<A, Failure, R>) => failing(timedStage(stage, work))

/**
 * Ends the running work of a cancelled batch, and removes the facts it had added. It is idempotent. A process that stops ends
 * its runs first, since it may be the last one that works.
 */
export const endWork = (folder: StorageFolder, state: typeof S.Cancelled.Type) =>
  Effect.andThen(
    Effect.uninterruptible(endRuns(state, cancelledWithBatch(state.attempt))),
    state.cancelledInStage === "ingesting" ? Effect.asVoid(withdrawGraph(folder, state)) : Effect.void,
  )

/**
 * Where it fails, the graph is as before by the time the batch has failed. An interrupt is a cancel, whose state withdraws what was
 * added, or the process ends and resumes later.
 */
const ingestGraph = (folder: StorageFolder, state: typeof S.Ingesting.Type) =>
  Effect.onError(addToGraph(folder, state), (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.void
      : Effect.catchCause(takeBack(folder, state), (problem) =>
          Effect.logDebug(`batch ${state.batchId}: its facts are removed from the graph after it has failed`, problem),
        ),
  )

/** A batch that was resumed since replaces the facts it had added. */
const takeBackFacts = (folder: StorageFolder, failed: typeof S.Failed.Type, stored: Effect.Effect<BatchState | undefined, ReadError>) =>
  Effect.gen(function* () {
    const now = yield* stored
    if (now?._tag === "Failed" && now.attempt === failed.attempt) yield* takeBack(folder, failed)
  })

/**
 * Where another process has cancelled the batch, its runs are ended before the work of this one has ended: a process that follows the
 * batch stops then. It cannot be interrupted, and takes no longer than the store of runs waits for its database. What cannot be
 * ended is ended by the next process that works.
 */
const endCancelled = ({ batchId, attempt }: typeof S.Extracting.Type, stored: Effect.Effect<BatchState | undefined, ReadError>) =>
  Effect.gen(function* () {
    const now = yield* stored
    if (now?._tag === "Cancelled") yield* endRuns({ batchId }, cancelledWithBatch(attempt))
  }).pipe(Effect.catchCause((cause) => Effect.logDebug(`batch ${batchId}: its runs are ended by the next process that works`, cause)))

/** Writes `status.json`. Of two concurrent writers the later may write an older state, sees that, and writes again. */
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
  // Some errors of libraries say nothing but have a cause that does.
  const said = describe(error) === "" && "cause" in error ? error.cause : error
  return { code: "code" in error ? String(error.code) : String(error._tag), message: describe(said), ...led }
}

/** How many causes of causes are followed. */
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
