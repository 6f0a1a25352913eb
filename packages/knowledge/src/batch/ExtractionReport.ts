/**
 * Reports the extraction of a batch: the result of each document goes to the log of batch events, the progress to the batch. Both
 * are written twice a second and not for each document, since each write waits for the disk.
 *
 * The log is written first. A process that dies in between reports to the batch again after its restart; in the reverse order, the
 * log would lack documents that the batch has already counted when its stage ends.
 */

import type { SendError } from "@detent/machine"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { isSqlError } from "effect/unstable/sql/SqlError"
import type { Usage } from "../extract/Extractor.ts"
import type { RunResult } from "../runs/ExtractionWorkflow.ts"
import { defaultPatience, patienceOf } from "../runs/RunFailed.ts"
import type { DocumentId } from "../storage/Identity.ts"
import { BatchEvent } from "./BatchEvent.ts"
import { BatchEventLog, type DocumentStanding } from "./BatchEventLog.ts"
import type { Counted } from "./BatchMachine.ts"
import { type BatchUsage, type LanguageCount, progressPercent, type S } from "./BatchState.ts"

type Extracting = typeof S.Extracting.Type

const facts = BatchEvent.cases

type DocumentEvent =
  | typeof facts.DocumentStarted.Type
  | typeof facts.DocumentCompleted.Type
  | typeof facts.DocumentFailed.Type
  | typeof facts.DocumentSetAside.Type

/** Receives the progress of the extraction. */
export interface ExtractionProgress {
  readonly counted: (counts: Counted) => Effect.Effect<void, SendError>
  /** Documents that failed before this time are tried once more. */
  readonly retried: (failuresSince: number) => Effect.Effect<void, SendError>
}

/** The pause between two reports of a batch. A report takes two commits or more, and a commit takes 5 ms on a busy disk. */
const interval = "500 millis"

/** The shortest pause between two published progress events, in milliseconds. */
const progressInterval = 1000

/** How long an interrupted extraction waits to publish its remaining events. */
const patience = "2 seconds"

/** How many unchanged documents one event names: the log stores an event in one row. */
const unchangedAtOnce = 500

/** The errors of a short outage of the database. */
const outages: ReadonlySet<string> = new Set(["PersistenceFailed", "EventJournalError", "SqlError"])

/** Every attempt has at most two rounds: all documents, then the failed ones once more. */
export const roundOf = ({ attempt, round }: Pick<Extracting, "attempt" | "round">): number => attempt * 2 + round

export type ExtractionReport = Effect.Success<ReturnType<typeof startReport>>

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
      Effect.catchDefect((defect) => (isSqlError(defect) ? Effect.fail(defect) : Effect.die(defect))),
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
        Effect.timeout(patience),
        // The resumed batch reports these documents: it finds their runs.
        Effect.catchCause((cause) => Effect.logWarning(`batch ${batchId}: the results of some documents are not in its log yet`, cause)),
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
