/** Extracts the documents of a batch: many at once, each as a run of its own, as the failure policy says. */

import type { SendError } from "@detent/machine"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type DocumentId, runIdOf } from "../domain/Identity.ts"
import type { Manifest, ManifestDocument } from "../domain/Manifest.ts"
import { Extractions } from "../run/Extractions.ts"
import type { RunResult } from "../run/ExtractionWorkflow.ts"
import { RunFailed } from "../run/RunFailed.ts"
import { RunStore } from "../run/RunStore.ts"
import { Storage } from "../storage/Storage.ts"
import { BatchEvent } from "./BatchEvent.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { E, type S } from "./BatchMachine.ts"
import { progressPercent } from "./BatchProgress.ts"
import { BatchStopped } from "./BatchStopped.ts"
import { loadManifest } from "./StageFiles.ts"

type Extracting = typeof S.Extracting.Type

/** How a stage speaks to its batch. The same id again is answered, not repeated: a stage that starts over counts nothing twice. */
export type Tell = (event: typeof E.Type, id: string) => Effect.Effect<void, SendError>

const facts = BatchEvent.cases

/** How often progress is told at most, in milliseconds. */
const progressInterval = 1000

export const extractDocuments = (state: Extracting, tell: Tell) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, state.manifestUri)
    const failed = yield* extractAll(state, manifest, manifest.documents, tell)
    if (failed.length > 0 && state.config.failurePolicy === "retryFailed" && state.round === 0) {
      const again = { failuresSince: (yield* Clock.currentTimeMillis) + 1, round: 1 }
      yield* tell(E.DocumentsRetried({ count: failed.length, failuresSince: again.failuresSince }), `${state.attempt}/retried`)
      yield* extractAll({ ...state, ...again }, manifest, failed, tell)
    }
    yield* tell(E.ExtractionComplete(), `${state.attempt}/extracted`)
  }).pipe(
    // Documents beside the one that ended the batch are still being worked on. An interrupt leaves that to who interrupts.
    Effect.onError((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.orDie(endRuns(state)))),
  )

/** Ends the runs of a batch that are under way. What they have stored is kept. */
export const endRuns = ({ batchId }: Pick<Extracting, "batchId">) =>
  Effect.gen(function* () {
    const extractions = yield* Extractions
    const running = yield* Effect.flatMap(RunStore, (runs) => runs.runningOf(batchId))
    yield* Effect.forEach(
      running,
      (id) =>
        // One that has ended by itself meanwhile needs no end.
        Effect.catchTag(Effect.asVoid(extractions.cancel(id)), ["RunStatusConflict", "RunStatusRefused"], () => Effect.void),
      { concurrency: 16, discard: true },
    )
  })

/** The documents that failed. */
const extractAll = (state: Extracting, manifest: Manifest, documents: ReadonlyArray<ManifestDocument>, tell: Tell) =>
  Effect.gen(function* () {
    const log = yield* BatchEventLog
    const extractions = yield* Extractions
    const { batchId, attempt, round, config } = state
    const failed: Array<ManifestDocument> = []
    // What was told of a document before is not told again.
    const told = yield* log.completed(batchId)
    const progress = yield* progressOf(state, documents.length)

    const failure = (document: ManifestDocument, { code, detail }: RunFailed) =>
      Effect.gen(function* () {
        const { documentId } = document
        failed.push(document)
        yield* tell(E.DocumentFailed({ documentId, error: detail }), `${attempt}/${round}/failed/${documentId}`)
        yield* log.emit(facts.DocumentFailed.make({ batchId, at: yield* Clock.currentTimeMillis, documentId, error: detail }))
        if (config.failurePolicy === "failFast")
          return yield* new BatchStopped({ code, problem: `document ${document.sourceUri}: ${detail}` })
        yield* progress("documentsFailed")
      })

    const success = (documentId: DocumentId, { entities: entityCount, facts: relationCount }: RunResult) =>
      Effect.gen(function* () {
        yield* tell(E.DocumentCompleted({ documentId, entityCount, relationCount }), `${attempt}/completed/${documentId}`)
        if (told.has(documentId)) return yield* progress("documentsCompleted")
        const at = yield* Clock.currentTimeMillis
        yield* log.emit(facts.DocumentCompleted.make({ batchId, at, documentId, entityCount, relationCount }))
        yield* progress("documentsCompleted")
      })

    const extract = (document: ManifestDocument) =>
      Effect.gen(function* () {
        const { documentId } = document
        if (!told.has(documentId)) yield* log.emit(facts.DocumentStarted.make({ batchId, at: yield* Clock.currentTimeMillis, documentId }))
        const exit = yield* Effect.exit(extractions.complete(requestOf(state, manifest, document), state.failuresSince))
        if (Exit.isSuccess(exit)) return yield* success(documentId, exit.value)
        const reason = exit.cause.reasons.find(Cause.isFailReason)
        return yield* failure(document, reason === undefined ? yield* cancelled(state, document, exit.cause) : reason.error)
      })

    yield* Effect.forEach(documents, extract, { concurrency: config.concurrency, discard: true })
    return failed
  })

/** A run that somebody cancelled by itself is a failure of its document. Anything else that ends a run so is not. */
const cancelled = ({ batchId }: Extracting, { documentId }: ManifestDocument, cause: Cause.Cause<RunFailed>) =>
  Effect.gen(function* () {
    if (!Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause)
    const runId = runIdOf({ batchId, documentId, attempt: 0 })
    const run = yield* Effect.flatMap(Extractions, (extractions) => extractions.get(runId))
    if (run.status !== "cancelled") return yield* Effect.interrupt
    return new RunFailed({ runId, code: "Cancelled", detail: "its run was cancelled; resume the batch to go on", retryable: true })
  })

/** Counts documents, and tells of it now and then. */
const progressOf = (state: Extracting, count: number) =>
  Effect.gen(function* () {
    const log = yield* BatchEventLog
    // In the second round only those that failed are passed again.
    const reached = { documentsCompleted: state.documentsTotal - count, documentsFailed: 0 }
    let toldAt = yield* Clock.currentTimeMillis
    return (counted: keyof typeof reached) =>
      Effect.gen(function* () {
        reached[counted]++
        const completedDocuments = reached.documentsCompleted
        const at = yield* Clock.currentTimeMillis
        const isLast = completedDocuments + reached.documentsFailed === state.documentsTotal
        if (!isLast && at - toldAt < progressInterval) return
        toldAt = at
        const { batchId, documentsTotal: totalDocuments } = state
        const progress = progressPercent({ ...state, ...reached })
        yield* log.emit(facts.StageProgress.make({ batchId, at, completedDocuments, totalDocuments, progress }))
      })
  })

const requestOf = (state: Extracting, manifest: Manifest, document: ManifestDocument) => ({
  sourceUri: document.sourceUri,
  contentType: document.contentType,
  ontologyUri: manifest.ontologyUri,
  ...(manifest.examplesUri === undefined ? {} : { examplesUri: manifest.examplesUri }),
  config: state.config.pipeline,
  // A document's run is the same however often the batch is started again: what failed is resumed, what is done stays.
  part: { batchId: state.batchId, attempt: 0 },
})
