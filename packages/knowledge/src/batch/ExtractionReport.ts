/**
 * The reports of a batch's extraction: the result of each document to the log of batch events, the progress to the batch. Both
 * are written twice a second and not for each document, since each is a write that waits for the disk.
 *
 * The log comes first. A process that dies in between reports to the batch again when it is back; in the reverse order the log
 * would lack documents that the batch has counted when its stage has ended.
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

/** How often a batch reports at most. Each report takes two commits or more, and on a busy disk one takes 5 ms. */
const interval = "500 millis"

/** The shortest pause between two published progress events, in milliseconds. */
const progressInterval = 1000

/** How long interrupted work waits to publish its remaining events. */
const patience = "2 seconds"

/** How many unchanged documents one event names: an event is a row. */
const unchangedAtOnce = 500

/** The errors of a short outage of the database. */
const outages: ReadonlySet<string> = new Set(["PersistenceFailed", "EventJournalError", "SqlError"])

/** Every attempt has two rounds at most: the documents, and once more those that failed. */
export const roundOf = ({ attempt, round }: Pick<Extracting, "attempt" | "round">): number => attempt * 2 + round

export type ExtractionReport = Effect.Success<ReturnType<typeof startReport>>

/** The cost of models for the batch. None where it calls none. */
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
    const tellWorld = (events: ReadonlyArray<DocumentEvent>) =>
      Effect.gen(function* () {
        const standings = yield* log.standings(batchId, [...new Set(events.map(({ documentId }) => documentId))])
        const news = events.filter((event) => isNews(event, standings.get(event.documentId)))
        // They are stored in the order they come in, many with one write.
        yield* Effect.forEach(news, log.emit, { concurrency: "unbounded", discard: true })
        for (const event of events) waiting.delete(event)
      })

    /** A completed document stays completed, however often its end is reported. */
    const tellUnchanged = Effect.suspend(() =>
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

    const tellProgress = Effect.gen(function* () {
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
    /** A document may take long: the cost of its calls counts before it is done. */
    const count = Effect.map(spending, (spent) => {
      if (spent === undefined || JSON.stringify(usageOf(spent)) === JSON.stringify(usage)) return
      usage = usageOf(spent)
      changes++
    })

    const flush = Effect.gen(function* () {
      yield* count
      if (reported === changes) return
      const upTo = changes
      yield* tellUnchanged
      yield* tellWorld([...waiting])
      yield* progress.counted({ ...summary(), ...(currentDocumentId === undefined ? {} : { currentDocumentId }) })
      yield* tellProgress
      reported = upTo
    }).pipe(
      one.withPermit,
      // Events that were stored when the database went away are in its log, and are not published again.
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
      /** The graph has this version of the document. */
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
      /** Publishes progress for as long as the extraction takes. */
      telling: Effect.forever(Effect.delay(flush, interval)),
      /** Reports everything that is not reported yet. */
      end: flush,
      /** For work that ends early: publishes the results of finished documents only. */
      rest: Effect.suspend(() => {
        const events = [...waiting]
        const ended = new Set(events.flatMap((event) => (event._tag === "DocumentStarted" ? [] : [event.documentId])))
        return tellWorld(events.filter(({ documentId }) => ended.has(documentId)))
      }).pipe(
        one.withPermit,
        // It is called while the work is ended, where nothing is interrupted unless it says so.
        Effect.interruptible,
        Effect.timeout(patience),
        // The resumed batch reports them: it finds the rows of the runs.
        Effect.catchCause((cause) => Effect.logWarning(`batch ${batchId}: the results of some documents are not in its log yet`, cause)),
      ),
    }
  })

type Spoken = Pick<RunResult, "language" | "unread">

/** How many documents are in each language, and of how many the prose was left out. */
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

/** As the batch stores it. */
export const usageOf = ({ calls, inputTokens, outputTokens, cost, currency }: Usage & { readonly currency?: string }): BatchUsage => ({
  calls,
  inputTokens: Math.round(inputTokens),
  outputTokens: Math.round(outputTokens),
  ...(cost === undefined ? {} : { cost: Number(cost.toFixed(9)) }),
  ...(cost === undefined || currency === undefined ? {} : { currency }),
})

/** The same rule as that of the log's projection, so that no report is sent that would change nothing. */
const isNews = (event: DocumentEvent, standing: DocumentStanding | undefined): boolean => {
  if (standing === undefined) return true
  if (standing.status === "completed") return false
  if (event._tag === "DocumentCompleted" || standing.round < event.round) return true
  return event._tag !== "DocumentStarted" && standing.round === event.round && standing.status === "processing"
}
