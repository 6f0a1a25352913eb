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
import type { RunResult } from "../runs/ExtractionWorkflow.ts"
import { Extractors } from "../runs/Extractors.ts"
import { addMisfits, isEndedWithBatch, isStoreAway, type Misfits, RunEnding, RunFailed, setAsideCode } from "../runs/Run.ts"
import { RunStore } from "../runs/RunStore.ts"
import { defaultPatience, patienceOf } from "../runs/RunTables.ts"
import { type DocumentId, runIdOf } from "../storage/Identity.ts"
import { BatchEventLog, type DocumentStanding } from "./BatchEventLog.ts"
import { BatchEvent, type Counted, isPassedBy } from "./BatchMachine.ts"
import { timedDocument } from "./BatchMetrics.ts"
import { BatchStopped, type BatchUsage, type LanguageCount, progressPercent, type S, selectionOf } from "./BatchState.ts"
import { settingOf, unchangedDocuments, writeMetadata } from "./Document.ts"
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
    if (run.status !== "cancelled" || isEndedWithBatch(run)) return yield* Effect.interrupt
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

// The report of the extraction: the result of each document goes to the log of batch events, the progress to the batch. Both
// are written twice a second and not for each document, since each write waits for the disk.
//
// The log is written first. A process that dies in between reports to the batch again after its restart; in the reverse order, the
// log would lack documents that the batch has already counted when its stage ends.

const facts = BatchEvent.cases

type DocumentEvent =
  | typeof facts.DocumentStarted.Type
  | typeof facts.DocumentCompleted.Type
  | typeof facts.DocumentFailed.Type
  | typeof facts.DocumentSetAside.Type

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
    const languages = new LanguageCounts()
    const waiting = new Set<DocumentEvent>()
    const unchanged = new Set<DocumentId>()
    let [changes, reported, progressAt] = [0, 0, yield* Clock.currentTimeMillis]

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
      languages: languages.counted(),
    })

    const one = yield* Semaphore.make(1)
    /** A document may take long, so its calls count before it is done. */
    const count = Effect.map(spending, (spent) => {
      if (spent === undefined || JSON.stringify(usageOf(spent)) === JSON.stringify(usage)) return
      usage = usageOf(spent)
      changes++
    })

    const flush = Effect.gen(function* () {
      yield* count
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
      counted: summary,
      started: (documentId: DocumentId, round: number) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          currentDocumentId = documentId
          note(facts.DocumentStarted.make({ batchId, at, documentId, round }))
        }),
      completed: (documentId: DocumentId, { entities: entityCount, facts: relationCount, forReview, ...read }: RunResult) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          languages.add(read)
          failures.delete(documentId)
          setAside.delete(documentId)
          counted.documentsCompleted++
          counted.entityCount += entityCount
          counted.relationCount += relationCount
          counted.reviewCount += forReview
          misfits = addMisfits(misfits, read.misfits)
          note(facts.DocumentCompleted.make({ batchId, at, documentId, entityCount, relationCount, reviewCount: forReview }))
        }),
      /** The graph already has this version of the document. */
      unchanged: (documentId: DocumentId, before: Spoken) =>
        Effect.sync(() => {
          languages.add(before)
          counted.documentsCompleted++
          counted.documentsUnchanged++
          changes++
          unchanged.add(documentId)
        }),
      failed: (documentId: DocumentId, round: number, error: string) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          failures.add(documentId)
          note(facts.DocumentFailed.make({ batchId, at, documentId, round, error }))
        }),
      /** The document exceeded a limit twice. */
      setAside: (documentId: DocumentId, round: number, error: string) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          failures.delete(documentId)
          setAside.add(documentId)
          note(facts.DocumentSetAside.make({ batchId, at, documentId, round, error }))
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

type Spoken = Pick<RunResult, "language" | "unread">

/** Counts the documents of each language, and how many of them had prose that was not read. */
export class LanguageCounts {
  readonly #counts = new Map<string, { documents: number; unread: number; reason: Spoken["unread"] }>()

  add({ language = "und", unread }: Spoken): void {
    const count = this.#counts.get(language) ?? { documents: 0, unread: 0, reason: undefined }
    count.documents++
    if (unread !== undefined) count.unread++
    count.reason ??= unread
    this.#counts.set(language, count)
  }

  counted(): ReadonlyArray<LanguageCount> {
    return [...this.#counts]
      .map(([language, { documents, unread, reason }]) => ({
        language,
        documents,
        ...(unread === 0 ? {} : { unread }),
        ...(reason === undefined ? {} : { reason }),
      }))
      .sort((one, other) => other.documents - one.documents || (one.language < other.language ? -1 : 1))
  }
}

/** Model usage as the batch stores it: whole tokens, and the cost rounded to nine decimals. */
export const usageOf = ({ calls, inputTokens, outputTokens, cost, currency }: Usage & { readonly currency?: string }): BatchUsage => ({
  calls,
  inputTokens: Math.round(inputTokens),
  outputTokens: Math.round(outputTokens),
  ...(cost === undefined ? {} : { cost: Number(cost.toFixed(9)) }),
  ...(cost === undefined || currency === undefined ? {} : { currency }),
})

/** Whether the event would change the log's projection, by the rule of the projection: other events are not sent. */
const isNews = (event: DocumentEvent, standing: DocumentStanding | undefined): boolean => {
  if (standing === undefined) return true
  if (standing.status === "completed") return false
  if (event._tag === "DocumentCompleted" || standing.round < event.round) return true
  return event._tag !== "DocumentStarted" && standing.round === event.round && standing.status === "processing"
}
