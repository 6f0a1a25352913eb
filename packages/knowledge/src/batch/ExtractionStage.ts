/** Extracts the documents of a batch: many at once, each as a run of its own, as the failure policy says. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Extractions, endedWithBatch } from "../runs/Extractions.ts"
import { Extractors } from "../runs/Extractors.ts"
import { isStoreAway, RunFailed } from "../runs/RunFailed.ts"
import { RunStore } from "../runs/RunStore.ts"
import { runIdOf } from "../storage/Identity.ts"
import { Storage } from "../storage/Storage.ts"
import { selectionOf } from "./BatchConfig.ts"
import { E, type S, type Tell } from "./BatchMachine.ts"
import { BatchStopped } from "./BatchStopped.ts"
import { settingOf, unchangedDocuments } from "./DocumentVersions.ts"
import { type ExtractionReport, roundOf, startReport } from "./ExtractionReport.ts"
import type { Manifest, ManifestDocument } from "./Manifest.ts"
import { isPassedBy } from "./PassedBy.ts"
import { loadManifest, startedOntology } from "./StageFiles.ts"

type Extracting = typeof S.Extracting.Type

export const extractDocuments = (state: Extracting, tell: Tell) =>
  Effect.gen(function* () {
    const manifest = yield* loadManifest(yield* Storage, state.manifestUri)
    yield* startedOntology(manifest)
    const extractors = yield* Extractors
    const isUnchanged = yield* unchangedDocuments(state, yield* settingOf(manifest, state.config))
    const report = yield* startReport(state, tell, extractors.spent(state.batchId))
    const extract = (round: Pick<Extracting, "failuresSince" | "round">, documents: ReadonlyArray<ManifestDocument>) =>
      extractAll({ ...state, ...round }, manifest, documents, isUnchanged, report)
    const rounds = Effect.gen(function* () {
      const failed = yield* extract(state, manifest.documents)
      if (failed.length > 0 && state.config.failurePolicy === "retryFailed" && state.round === 0) {
        const failuresSince = (yield* Clock.currentTimeMillis) + 1
        yield* tell(E.DocumentsRetried({ failuresSince }), `${state.attempt}/retried`)
        yield* extract({ failuresSince, round: state.round + 1 }, failed)
      }
      yield* report.end
    })
    yield* Effect.onError(Effect.raceFirst(rounds, report.telling), () => report.rest)
    yield* tell(E.ExtractionComplete(report.counted()), `${state.attempt}/extracted`)
  }).pipe(
    // Documents beside the one that ended the batch are still being worked on. An interrupt leaves that to who interrupts, and
    // who was passed by leaves it to who did.
    Effect.onError((cause) => (isLeft(cause) ? Effect.void : endRunsSoon(state))),
  )

/** How long a stage that has failed waits for its runs to be ended. */
const patience = "5 seconds"

/** Work that cannot be ended in time, because the database is away or full, is joined when the batch is resumed. */
const endRunsSoon = (state: Extracting) =>
  endRuns(state).pipe(
    Effect.timeout(patience),
    // It is called while the work is ended, where nothing is interrupted unless it says so.
    Effect.interruptible,
    Effect.catchCause((cause) => Effect.logWarning(`batch ${state.batchId}: some of its documents are still being extracted`, cause)),
  )

const isLeft = (cause: Cause.Cause<{ readonly _tag: string }>) =>
  Cause.hasInterruptsOnly(cause) || cause.reasons.some((reason) => Cause.isFailReason(reason) && isPassedBy(reason.error))

/** Ends the runs of a batch that are under way. What they have stored is kept. */
export const endRuns = ({ batchId }: Pick<Extracting, "batchId">) =>
  Effect.gen(function* () {
    const extractions = yield* Extractions
    const running = yield* Effect.flatMap(RunStore, (runs) => runs.runningOf(batchId))
    yield* Effect.forEach(
      running,
      (id) =>
        // One that has ended by itself meanwhile needs no end.
        Effect.catchTag(
          Effect.asVoid(extractions.cancel(id, endedWithBatch)),
          ["RunStatusConflict", "RunStatusRefused"],
          () => Effect.void,
        ),
      { concurrency: 16, discard: true },
    )
  })

/** The documents that failed. */
const extractAll = (
  state: Extracting,
  manifest: Manifest,
  documents: ReadonlyArray<ManifestDocument>,
  isUnchanged: (document: ManifestDocument) => Effect.Effect<boolean>,
  report: ExtractionReport,
) =>
  Effect.gen(function* () {
    const extractions = yield* Extractions
    const failures: Array<ManifestDocument> = []

    const failure = (document: ManifestDocument, failed: RunFailed) =>
      Effect.gen(function* () {
        const { code, detail, stops } = failed
        // Nothing is wrong with the document: whatever the policy, it resumes with the batch.
        if (isStoreAway(failed)) return yield* new BatchStopped({ code, problem: detail })
        if (stops !== undefined) {
          yield* report.end
          return yield* new BatchStopped({ code: stops, problem: detail })
        }
        failures.push(document)
        yield* report.failed(document.documentId, roundOf(state), detail)
        if (state.config.failurePolicy !== "failFast") return
        yield* report.end
        return yield* new BatchStopped({ code, problem: `document ${document.sourceUri}: ${detail}` })
      })

    const extract = (document: ManifestDocument) =>
      Effect.gen(function* () {
        if (yield* isUnchanged(document)) return yield* report.unchanged(document.documentId)
        yield* report.started(document.documentId, roundOf(state))
        const exit = yield* Effect.exit(extractions.complete(requestOf(state, manifest, document), state.failuresSince))
        if (Exit.isSuccess(exit)) return yield* report.completed(document.documentId, exit.value)
        const reason = exit.cause.reasons.find(Cause.isFailReason)
        return yield* failure(document, reason === undefined ? yield* cancelled(state, document, exit.cause) : reason.error)
      })

    yield* Effect.forEach(documents, extract, { concurrency: state.config.concurrency, discard: true })
    return failures
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

const requestOf = (state: Extracting, manifest: Manifest, document: ManifestDocument) => ({
  sourceUri: document.sourceUri,
  contentType: document.contentType,
  ontologyUri: manifest.ontologyUri,
  ...(manifest.examplesUri === undefined ? {} : { examplesUri: manifest.examplesUri }),
  config: state.config.pipeline,
  selection: selectionOf(state.config),
  // A document's run is the same however often the batch is started again: what failed is resumed, what is done stays.
  part: { batchId: state.batchId, attempt: 0 },
})
