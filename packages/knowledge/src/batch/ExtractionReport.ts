/**
 * What the extraction of a batch has to tell: to the batch how far it is, to the world what became of each document. Both go
 * out a few times a second and not for each document, since each is a write that waits for the disk.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { DocumentId } from "../domain/Identity.ts"
import type { RunResult } from "../run/ExtractionWorkflow.ts"
import { BatchEvent } from "./BatchEvent.ts"
import { BatchEventLog } from "./BatchEventLog.ts"
import { E, type S } from "./BatchMachine.ts"
import { progressPercent } from "./BatchProgress.ts"
import type { Tell } from "./ExtractionStage.ts"

type Extracting = typeof S.Extracting.Type

const facts = BatchEvent.cases

/** How often something is told at most. */
const interval = "200 millis"

/** How often progress is told to the world at most, in milliseconds. */
const progressInterval = 1000

export type ExtractionReport = Effect.Success<ReturnType<typeof startReport>>

export const startReport = (state: Extracting, tell: Tell) =>
  Effect.gen(function* () {
    const log = yield* BatchEventLog
    const { batchId, documentsTotal: totalDocuments } = state
    // What was told of a document before a restart is not told again.
    const known = yield* log.completed(batchId)
    const failures = new Set<DocumentId>()
    const counted = { documentsCompleted: 0, documentsFailed: 0, entityCount: 0, relationCount: 0 }
    let waiting: Array<BatchEvent> = []
    let [changes, told, progressAt] = [0, 0, yield* Clock.currentTimeMillis]

    const progress = Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const { documentsCompleted: completedDocuments, documentsFailed } = counted
      if (completedDocuments + documentsFailed < totalDocuments && at - progressAt < progressInterval) return []
      progressAt = at
      const percent = progressPercent({ ...state, ...counted })
      return [facts.StageProgress.make({ batchId, at, completedDocuments, totalDocuments, progress: percent })]
    })

    const one = yield* Semaphore.make(1)
    const flush = Effect.gen(function* () {
      if (told === changes) return
      const [events, upTo] = [waiting, changes]
      waiting = []
      yield* tell(E.DocumentsCounted({ ...counted }))
      // They are stored in the order they come in, many with one write.
      yield* Effect.forEach([...events, ...(yield* progress)], log.emit, { concurrency: "unbounded", discard: true })
      told = upTo
    }).pipe(one.withPermit)

    return {
      started: (documentId: DocumentId) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          changes++
          if (!known.has(documentId)) waiting.push(facts.DocumentStarted.make({ batchId, at, documentId }))
        }),
      completed: (documentId: DocumentId, { entities: entityCount, facts: relationCount }: RunResult) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          changes++
          if (failures.delete(documentId)) counted.documentsFailed--
          counted.documentsCompleted++
          counted.entityCount += entityCount
          counted.relationCount += relationCount
          if (!known.has(documentId)) waiting.push(facts.DocumentCompleted.make({ batchId, at, documentId, entityCount, relationCount }))
        }),
      failed: (documentId: DocumentId, error: string) =>
        Effect.map(Clock.currentTimeMillis, (at) => {
          changes++
          if (!failures.has(documentId)) counted.documentsFailed++
          failures.add(documentId)
          waiting.push(facts.DocumentFailed.make({ batchId, at, documentId, error }))
        }),
      /** Tells what there is, for as long as the extraction takes. */
      telling: Effect.forever(Effect.delay(flush, interval)),
      /** Tells all that is left. */
      end: flush,
    }
  })
