/** Extracts the documents of a batch concurrently, each as its own run, and applies the failure policy. */

import { Storage, type StorageFolder } from "@detent/blobs/Storage"
import type { SendError } from "@detent/machine"
import { explain } from "@detent/machine/internal"
import { defectsAsFailures } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Semaphore from "effect/Semaphore"
import { isSqlError } from "effect/sql/SqlError"
import type { Usage } from "../extract/Extractor.ts"
import { Extractions } from "../runs/Extractions.ts"
import { Extractors } from "../runs/Extractors.ts"
import {
  addMisfits,
  addNotRead,
  addRefused,
  addSkipped,
  isEndedWithBatch,
  isStoreAway,
  type Misfits,
  type NotRead,
  type RefusedItems,
  RunEnding,
  RunFailed,
  type SkippedChunks,
} from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { defaultPatience, patienceOf } from "../runs/RunTables.ts"
import { type DocumentId, runIdOf } from "../storage/Identity.ts"
import { BatchEventLog, type DocumentStanding } from "./BatchEventLog.ts"
import { BatchEvent, type Counted, isPassedBy } from "./BatchMachine.ts"
import { type BatchUsage, progressPercent, type S } from "./BatchState.ts"
import { settingOf, unchangedDocuments, writeMetadata } from "./Document.ts"
import { type DocumentEnd, type DocumentOutcome, endEvent, extractDocument, meaningOf, requestOf } from "./DocumentExtraction.ts"
import { countedAtEnd, LanguageCounts, usageOf } from "./ExtractionCounts.ts"
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
            yield* report.ended(document, roundOf(state), { _tag: "Unchanged", before: same })
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
    return yield* countedAtEnd(state, manifest)
  }).pipe(
    // When one document fails the batch, the others are still being extracted. After an interrupt, the next state ends their runs; when
    // another process has moved the batch on, that process does.
    Effect.onError((cause) => (isLeft(cause) ? Effect.void : endRunsSoon(folder, state))),
  )

/** How long a failed stage waits for its runs to end. */
const endPatience = "5 seconds"

/** The resumed batch joins runs that cannot be ended in time because the database is unavailable or full. */
const endRunsSoon = (folder: StorageFolder, state: Extracting) =>
  Effect.gen(function* () {
    yield* endRuns(state, RunEnding.cases.BatchFailed.make({}))
    yield* writeMetadata(folder, state, yield* loadManifest(yield* Storage, state.manifestUri))
  }).pipe(
    Effect.timeout(endPatience),
    // Finalizers are not interruptible by default, and this one has a time limit.
    Effect.interruptible,
    Effect.catchCause((cause) =>
      Effect.logWarning(`batch ${state.batchId}: some of its documents are still being extracted: ${explain(Cause.squash(cause))}`),
    ),
  )

const isLeft = (cause: Cause.Cause<{ readonly _tag: string }>) =>
  Cause.hasInterruptsOnly(cause) || cause.reasons.some((reason) => Cause.isFailReason(reason) && isPassedBy(reason.error))

/** How often running runs are queried: another process that works on the batch may start one while these are being cancelled. */
const passes = 20

/** Cancels the queued and running runs of a batch. Their rows are kept. */
export const endRuns = ({ batchId }: Pick<Extracting, "batchId">, ending: RunEnding) =>
  Effect.gen(function* () {
    const extractions = yield* Extractions
    const runs = yield* RunStore
    for (let pass = 0; pass < passes; pass++) {
      yield* runs.cancelQueued(batchId, ending)
      const running = yield* runs.runningOf(batchId)
      if (running.length === 0) return
      yield* Effect.forEach(
        running,
        (id) =>
          // The run has ended by itself meanwhile.
          Effect.catchTag(Effect.asVoid(extractions.cancel(id, ending)), ["RunStatusConflict", "RunStatusRefused"], () => Effect.void),
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
    const failures: Array<ManifestDocument> = []

    const settleFailure = (document: ManifestDocument, failed: RunFailed) =>
      Effect.gen(function* () {
        const { outcome, stop } = meaningOf(state.config, document, failed)
        if (outcome !== undefined) yield* report.ended(document, roundOf(state), outcome)
        if (outcome?._tag === "Failed") failures.push(document)
        if (stop === undefined) return
        // A report would wait for the database.
        if (!isStoreAway(failed)) yield* report.end
        return yield* stop
      })

    const extract = (document: ManifestDocument) =>
      Effect.gen(function* () {
        yield* report.started(document.documentId, roundOf(state))
        const failuresSince = isTried(state)(document) ? state.failuresSince : 0
        const exit = yield* Effect.exit(extractDocument(state, manifest, document, failuresSince))
        if (Exit.isSuccess(exit)) return yield* report.ended(document, roundOf(state), { _tag: "Completed", result: exit.value })
        const reason = exit.cause.reasons.find(Cause.isFailReason)
        return yield* settleFailure(document, reason === undefined ? yield* cancelled(state, document, exit.cause) : reason.error)
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
    if (run.status !== "cancelled" || isEndedWithBatch(run)) return yield* Effect.interrupt
    return new RunFailed({ runId, code: "Cancelled", detail: "its run was cancelled; resume the batch to continue", retryable: true })
  })

// The report of the extraction: the result of each document goes to the log of batch events, the progress to the batch. Both
// are written twice a second and not for each document, since each write waits for the disk.
//
// The log is written first. A process that dies in between reports to the batch again after its restart; in the reverse order, the
// log would lack documents that the batch has already counted when its stage ends.

const facts = BatchEvent.cases

type DocumentEvent = typeof facts.DocumentStarted.Type | Exclude<DocumentEnd, typeof facts.DocumentsUnchanged.Type>

/** Receives the progress of the extraction. */
interface ExtractionProgress {
  readonly counted: (counts: Counted) => Effect.Effect<void, SendError>
  /** Documents that failed before this time are tried once more. */
  readonly retried: (failuresSince: number) => Effect.Effect<void, SendError>
}

/** The pause between two reports of a batch. A report takes two commits or more, and a commit takes 5 ms on a busy disk. */
const interval = "500 millis"

/** The shortest pause between two published progress events, in milliseconds. */
const progressInterval = 1000

/** How long an interrupted extraction waits to publish its remaining events. */
const publishPatience = "2 seconds"

/** How many unchanged documents one event names: the log stores an event in one row. */
const unchangedAtOnce = 500

/** The errors of a short outage of the database. */
const outages: ReadonlySet<string> = new Set(["PersistenceFailed", "EventJournalError", "SqlError"])

/** Every attempt has at most two rounds: all documents, then the failed ones once more. */
export const roundOf = ({ attempt, round }: Pick<Extracting, "attempt" | "round">): number => attempt * 2 + round

type ExtractionReport = Effect.Success<ReturnType<typeof startReport>>

/** The model usage of the batch so far. Undefined when it calls no model. */
type Spent = Effect.Effect<(Usage & { readonly currency?: string }) | undefined>

export const startReport = (
  state: Extracting,
  progress: Pick<ExtractionProgress, "counted">,
  spending: Spent = Effect.succeed(undefined),
) =>
  Effect.gen(function* () {
    const log = yield* BatchEventLog
    const { batchId, documentsTotal: totalDocuments } = state
    const failures = new Set<DocumentId>()
    const setAside = new Set<DocumentId>()
    const counted = { documentsCompleted: 0, documentsUnchanged: 0, entityCount: 0, relationCount: 0, reviewCount: 0 }
    let usage: BatchUsage | undefined
    let currentDocumentId: DocumentId | undefined
    let misfits: Misfits | undefined
    let skipped: SkippedChunks | undefined
    let refused: RefusedItems | undefined
    let notRead: NotRead | undefined
    const languages = new LanguageCounts()
    const waiting = new Set<DocumentEvent>()
    const unchanged = new Set<DocumentId>()
    let [changes, reported, progressAt] = [0, 0, yield* Clock.currentTimeMillis]

    const count = (documentId: DocumentId, outcome: DocumentOutcome) => {
      failures.delete(documentId)
      setAside.delete(documentId)
      switch (outcome._tag) {
        case "Completed": {
          const { entities, facts, forReview, ...read } = outcome.result
          languages.add(read)
          counted.documentsCompleted++
          counted.entityCount += entities
          counted.relationCount += facts
          counted.reviewCount += forReview
          misfits = addMisfits(misfits, read.misfits)
          skipped = addSkipped(skipped, read.skipped)
          refused = addRefused(refused, read.refused)
          notRead = addNotRead(notRead, read.notRead)
          return
        }
        case "Unchanged":
          languages.add(outcome.before)
          counted.documentsCompleted++
          counted.documentsUnchanged++
          return
        case "Failed":
          failures.add(documentId)
          return
        case "SetAside":
          setAside.add(documentId)
      }
    }

    const note = (event: DocumentEvent) => {
      changes++
      waiting.add(event)
    }

    /** Events that were published before a restart, or by another process, are not published again. */
    const publishEvents = (events: ReadonlyArray<DocumentEvent>) =>
      Effect.gen(function* () {
        const standings = yield* log.standings(batchId, [...new Set(events.map(({ documentId }) => documentId))])
        const news = events.filter((event) => isNews(event, standings.get(event.documentId)))
        // The log stores them in this order, many in one commit.
        yield* Effect.forEach(news, log.emit, { concurrency: "unbounded", discard: true })
        for (const event of events) waiting.delete(event)
      })

    /** Publishes only documents that the log does not have as completed. */
    const publishUnchanged = Effect.suspend(() =>
      Effect.forEach(
        Arr.chunksOf([...unchanged], unchangedAtOnce),
        (documentIds) =>
          Effect.gen(function* () {
            const standings = yield* log.standings(batchId, documentIds)
            const news = documentIds.filter((id) => standings.get(id)?.status !== "completed")
            const at = yield* Clock.currentTimeMillis
            if (news.length > 0) yield* log.emit(facts.DocumentsUnchanged.make({ batchId, at, documentIds: news }))
            for (const id of documentIds) unchanged.delete(id)
          }),
        { discard: true },
      ),
    )

    const publishProgress = Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const { documentsCompleted: completedDocuments } = counted
      if (completedDocuments + failures.size + setAside.size < totalDocuments && at - progressAt < progressInterval) return
      progressAt = at
      const percent = progressPercent({ ...state, ...summary() })
      yield* log.emit(facts.StageProgress.make({ batchId, at, completedDocuments, totalDocuments, progress: percent }))
    })

    const summary = () => ({
      ...counted,
      documentsFailed: failures.size,
      documentsSetAside: setAside.size,
      ...(usage === undefined ? {} : { usage }),
      ...(misfits === undefined ? {} : { misfits }),
      ...(skipped === undefined ? {} : { skipped }),
      ...(refused === undefined ? {} : { refused }),
      ...(notRead === undefined ? {} : { notRead }),
      languages: languages.counted(),
    })

    const one = yield* Semaphore.make(1)
    /** A document may take long, so its calls count before it is done. */
    const charge = Effect.map(spending, (spent) => {
      if (spent === undefined || JSON.stringify(usageOf(spent)) === JSON.stringify(usage)) return
      usage = usageOf(spent)
      changes++
    })

    const flush = Effect.gen(function* () {
      yield* charge
      if (reported === changes) return
      const upTo = changes
      yield* publishUnchanged
      yield* publishEvents([...waiting])
      yield* progress.counted({ ...summary(), ...(currentDocumentId === undefined ? {} : { currentDocumentId }) })
      yield* publishProgress
      reported = upTo
    }).pipe(
      one.withPermit,
      // Events that were stored before the outage are found in the log, so a retry does not publish them again.
      defectsAsFailures(isSqlError),
      Effect.retry({ schedule: patienceOf(defaultPatience), while: ({ _tag }) => outages.has(_tag) }),
    )

    return {
      started: (documentId: DocumentId, round: number) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          currentDocumentId = documentId
          note(facts.DocumentStarted.make({ batchId, at, documentId, round }))
        }),
      ended: (document: Pick<ManifestDocument, "documentId">, round: number, outcome: DocumentOutcome) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          count(document.documentId, outcome)
          const event = endEvent({ batchId, at, round }, document, outcome)
          if (event._tag !== "DocumentsUnchanged") return note(event)
          changes++
          unchanged.add(document.documentId)
        }),
      /** Reports at every interval until it is interrupted. */
      reporting: Effect.forever(Effect.delay(flush, interval)),
      /** Reports everything that is not reported yet. */
      end: flush,
      /** For work that ends early: publishes the results of finished documents only. */
      rest: Effect.suspend(() => {
        const events = [...waiting]
        const ended = new Set(events.flatMap((event) => (event._tag === "DocumentStarted" ? [] : [event.documentId])))
        return publishEvents(events.filter(({ documentId }) => ended.has(documentId)))
      }).pipe(
        one.withPermit,
        // A finalizer calls this. Finalizers are uninterruptible by default, and the timeout has to interrupt.
        Effect.interruptible,
        Effect.timeout(publishPatience),
        // The resumed batch reports these documents: it finds their runs.
        Effect.catchCause((cause) =>
          Effect.logWarning(`batch ${batchId}: the results of some documents are not in its log yet: ${explain(Cause.squash(cause))}`),
        ),
      ),
    }
  })

/** Whether the event would change the log's projection, by the rule of the projection: other events are not sent. */
const isNews = (event: DocumentEvent, standing: DocumentStanding | undefined): boolean => {
  if (standing === undefined) return true
  if (standing.status === "completed") return false
  if (event._tag === "DocumentCompleted" || standing.round < event.round) return true
  return event._tag !== "DocumentStarted" && standing.round === event.round && standing.status === "processing"
}
