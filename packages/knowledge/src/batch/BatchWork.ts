/** The batch machine with its stages. What keeps a stage from being finished becomes the batch's failure. */
import type { SendError } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { describe } from "../storage/Describe.ts"
import type { BatchId } from "../storage/Identity.ts"
import type { StorageFolder } from "../storage/Uri.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { BatchMachine, E, type S, stageOf, type Tell } from "./BatchMachine.ts"
import type { BatchFault, BatchState } from "./BatchState.ts"
import { endRuns, extractDocuments } from "./ExtractionStage.ts"
import { ingestGraph, resolveEntities, validateGraph, withdrawGraph } from "./GraphStages.ts"
import { isPassedBy } from "./PassedBy.ts"

/** Sends an event to a batch under an id of the sender's own. */
export type TellBatch = (batch: BatchId, event: typeof E.Type, id?: string) => Effect.Effect<void, SendError>

/** Files of batches go below the folder. */
export const batchMachine = (folder: StorageFolder, tellBatch: TellBatch) => {
  const stage = <Stated extends Parameters<typeof stageOf>[0] & Pick<BatchState, "batchId" | "attempt" | "config">, Failure, R>(
    state: Stated,
    work: (state: Stated, tell: Tell) => Effect.Effect<void, Failure, R>,
  ): Effect.Effect<void, SendError, R> => {
    // Activities do the work, and report it.
    if (state.config.dispatch === "activities") return Effect.void
    const tell: Tell = (event, id) => tellBatch(state.batchId, event, id)
    return Effect.catchCause(
      work(state, tell),
      (cause): Effect.Effect<void, SendError> =>
        // Interrupted by a cancel or a stop of the process: the one has changed the state, the other is taken up again.
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : tell(
              E.Fail({ stage: stageOf(state), attempt: state.attempt, error: faultOf(cause) }),
              `${state.attempt}/${state._tag}/failed`,
            ).pipe(
              // Another process has ended the stage: what keeps this one from it is of no interest any more.
              Effect.catchIf(isPassedBy, () => Effect.void),
            ),
    )
  }
  return BatchMachine.build({
    emitBatchEvent: ({ event }) => Effect.orDie(Effect.flatMap(BatchEventLog, (log) => log.emit(event))),
    processDocuments: ({ state }) => Effect.orDie(stage(state, extractDocuments)),
    runResolution: ({ state }) => Effect.orDie(stage(state, (one, tell) => resolveEntities(folder, one, tell))),
    runValidation: ({ state }) => Effect.orDie(stage(state, (one, tell) => validateGraph(folder, one, tell))),
    endWork: ({ state }) => Effect.orDie(endWork(folder, state)),
    runIngestion: ({ state }) => Effect.orDie(stage(state, (one, tell) => ingestGraph(folder, one, tell))),
  })
}

/** What a cancelled batch had under way is ended, and what it had added is taken back. Done twice, it is done once. */
export const endWork = (folder: StorageFolder, state: typeof S.Cancelled.Type) =>
  Effect.andThen(endRuns(state), state.cancelledInStage === "ingesting" ? Effect.asVoid(withdrawGraph(folder, state)) : Effect.void)

const faultOf = (cause: Cause.Cause<unknown>): BatchFault => {
  const error = Cause.squash(cause)
  if (typeof error !== "object" || error === null || !("_tag" in error)) return { code: "Defect", message: describe(error) }
  // Some errors of libraries say nothing but have a cause that does.
  const said = describe(error) === "" && "cause" in error ? error.cause : error
  return { code: "code" in error ? String(error.code) : String(error._tag), message: describe(said) }
}
