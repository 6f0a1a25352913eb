/** Extracts the documents of a batch concurrently, each as its own run, and applies the failure policy. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { timedDocument } from "../KnowledgeMetrics.ts"
import { Extractions, endedWithBatch, isEndedWithBatch } from "../runs/Extractions.ts"
import { Extractors } from "../runs/Extractors.ts"
import { isStoreAway, RunFailed, setAsideCode } from "../runs/RunFailed.ts"
import { RunStore } from "../runs/RunStore.ts"
import { runIdOf } from "../storage/Identity.ts"
import { Storage } from "../storage/Storage.ts"
import type { StorageFolder } from "../storage/Uri.ts"
import { selectionOf } from "./BatchConfig.ts"
import { isPassedBy } from "./BatchMachine.ts"
import { BatchStopped, type S } from "./BatchState.ts"
import { writeMetadata } from "./Document.ts"
import { settingOf, unchangedDocuments } from "./DocumentVersions.ts"
import { type ExtractionProgress, type ExtractionReport, roundOf, startReport } from "./ExtractionReport.ts"
import { loadManifest, type Manifest, type ManifestDocument } from "./Manifest.ts"
import { startedOntology } from "./ManifestMaking.ts"

type Extracting = typeof S.Extracting.Type

/** Returns the counts of all documents. */
export const extractDocuments = (folder: StorageFolder, state: Extracting, progress: ExtractionProgress) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, state.manifestUri)
    yield* startedOntology(manifest)
    const extractors = yield* Extractors
    const unchangedIn = yield* unchangedDocuments(state, yield* settingOf(manifest, state.config))
    const report = yield* startReport(state, progress, extractors.spent(state.batchId))
    const extract = (round: Pick<Extracting, "failuresSince" | "round">, documents: ReadonlyArray<ManifestDocument>) =>
      extractAll({ ...state, ...round }, manifest, documents, report)
    const rounds = Effect.gen(function* () {
      const changed = yield* Effect.filter(
        manifest.documents,
        (document) =>
          Effect.gen(function* () {
            const same = yield* unchangedIn(document)
            if (same === undefined) return true
            yield* report.unchanged(document.documentId, same)
            return false
          }),
        { concurrency: state.config.concurrency },
      )
      yield* Effect.flatMap(Extractions, (extractions) => extractions.queue(changed.map((one) => requestOf(state, manifest, one))))
      const failed = yield* extract(state, changed)
      if (failed.length > 0 && state.config.failurePolicy === "retryFailed" && state.round === 0) {
        const failuresSince = (yield* Clock.currentTimeMillis) + 1
        yield* progress.retried(failuresSince)
        yield* extract({ failuresSince, round: state.round + 1 }, failed.filter(isTried(state)))
      }
      yield* report.end
    })
    yield* Effect.onError(Effect.raceFirst(rounds, report.reporting), () => report.rest)
    yield* writeMetadata(folder, state, manifest)
    return report.counted()
  }).pipe(
    // When one document fails the batch, the others are still being extracted. After an interrupt, the next state ends their runs; when
    // another process has moved the batch on, that process does.
    Effect.onError((cause) => (isLeft(cause) ? Effect.void : endRunsSoon(state))),
  )

/** How long a failed stage waits for its runs to end. */
const patience = "5 seconds"

/** The resumed batch joins runs that cannot be ended in time because the database is unavailable or full. */
const endRunsSoon = (state: Extracting) =>
  endRuns(state, endedWithBatch).pipe(
    Effect.timeout(patience),
    // Finalizers are not interruptible by default, and this one has a time limit.
    Effect.interruptible,
    Effect.catchCause((cause) => Effect.logWarning(`batch ${state.batchId}: some of its documents are still being extracted`, cause)),
  )

const isLeft = (cause: Cause.Cause<{ readonly _tag: string }>) =>
  Cause.hasInterruptsOnly(cause) || cause.reasons.some((reason) => Cause.isFailReason(reason) && isPassedBy(reason.error))

/** How often running runs are queried: another process that works on the batch may start one while these are being cancelled. */
const passes = 20

/** Cancels the queued and running runs of a batch. Their rows are kept. */
export const endRuns = ({ batchId }: Pick<Extracting, "batchId">, why: string) =>
  Effect.gen(function* () {
    const extractions = yield* Extractions
    const runs = yield* RunStore
    for (let pass = 0; pass < passes; pass++) {
      yield* runs.cancelQueued(batchId, why)
      const running = yield* runs.runningOf(batchId)
      if (running.length === 0) return
      yield* Effect.forEach(
        running,
        (id) =>
          // The run has ended by itself meanwhile.
          Effect.catchTag(Effect.asVoid(extractions.cancel(id, why)), ["RunStatusConflict", "RunStatusRefused"], () => Effect.void),
        { concurrency: 16, discard: true },
      )
    }
  })

/** Whether a failed document is tried again. For any other document, an earlier failure stands. */
const isTried =
  ({ retried }: Pick<Extracting, "retried">) =>
  ({ documentId }: ManifestDocument): boolean =>
    retried === undefined || retried.includes(documentId)

/** Extracts the documents, and returns those that failed. */
const extractAll = (state: Extracting, manifest: Manifest, documents: ReadonlyArray<ManifestDocument>, report: ExtractionReport) =>
  Effect.gen(function* () {
    const extractions = yield* Extractions
    const failures: Array<ManifestDocument> = []

    const failure = (document: ManifestDocument, failed: RunFailed) =>
      Effect.gen(function* () {
        const { code, detail, stops } = failed
        // The database is unavailable, not the document faulty: under every failure policy the batch stops, and resumes the document.
        if (isStoreAway(failed)) return yield* new BatchStopped({ code, problem: detail })
        if (stops !== undefined) {
          yield* report.end
          return yield* new BatchStopped({ code: stops, problem: detail })
        }
        if (code === setAsideCode) return yield* report.setAside(document.documentId, roundOf(state), detail)
        failures.push(document)
        yield* report.failed(document.documentId, roundOf(state), detail)
        if (state.config.failurePolicy !== "failFast") return
        yield* report.end
        return yield* new BatchStopped({ code, problem: `document ${document.sourceUri}: ${detail}` })
      })

    const extract = (document: ManifestDocument) =>
      Effect.gen(function* () {
        yield* report.started(document.documentId, roundOf(state))
        const exit = yield* Effect.exit(
          timedDocument(extractions.complete(requestOf(state, manifest, document), isTried(state)(document) ? state.failuresSince : 0)),
        )
        if (Exit.isSuccess(exit)) return yield* report.completed(document.documentId, exit.value)
        const reason = exit.cause.reasons.find(Cause.isFailReason)
        return yield* failure(document, reason === undefined ? yield* cancelled(state, document, exit.cause) : reason.error)
      })

    yield* Effect.forEach(documents, extract, { concurrency: state.config.concurrency, discard: true })
    return failures
  })

/** A single run that a user cancelled is a failure of its document. Any other interrupt of a run is not. */
const cancelled = ({ batchId }: Extracting, { documentId }: ManifestDocument, cause: Cause.Cause<RunFailed>) =>
  Effect.gen(function* () {
    if (!Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause)
    const runId = runIdOf({ batchId, documentId, attempt: 0 })
    const run = yield* Effect.flatMap(Extractions, (extractions) => extractions.get(runId))
    if (run.status !== "cancelled" || Option.exists(run.errorMessage, isEndedWithBatch)) return yield* Effect.interrupt
    return new RunFailed({ runId, code: "Cancelled", detail: "its run was cancelled; resume the batch to continue", retryable: true })
  })

const requestOf = (state: Extracting, manifest: Manifest, document: ManifestDocument) => ({
  sourceUri: document.sourceUri,
  contentType: document.contentType,
  ontologyUri: manifest.ontologyUri,
  ...(manifest.examplesUri === undefined ? {} : { examplesUri: manifest.examplesUri }),
  config: state.config.pipeline,
  selection: selectionOf(state.config),
  // A document has the same run in all attempts of the batch: a failed run is resumed, a finished one is kept.
  part: { batchId: state.batchId, attempt: 0, batchAttempt: state.attempt },
})
