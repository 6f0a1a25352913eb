import { ContentHash } from "@detent/blobs/ContentHash"
import { FileUri } from "@detent/blobs/Storage"
import * as SqliteClient from "@detent/durable/SqliteClient"
import { simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { BatchEvent, BatchMachine, E } from "../../src/batch/BatchMachine.ts"
import { defaultBatchConfig, noCounts, S } from "../../src/batch/BatchState.ts"
import { startReport } from "../../src/batch/ExtractionStage.ts"
import { BatchId, DocumentId, Namespace, OntologyVersion, RunId } from "../../src/storage/Identity.ts"

const batchId = BatchId.make("batch-0123456789ab")
const document = DocumentId.make("doc-0123456789ab")
const { DocumentStarted, DocumentCompleted, DocumentFailed } = BatchEvent.cases

const pending = {
  batchId,
  manifestUri: FileUri.make("file:///data/manifest.json"),
  ontologyVersion: OntologyVersion.make("sea/ontology@0123456789abcdef"),
  targetNamespace: Namespace.make("sea"),
  config: defaultBatchConfig,
  documentsTotal: 3,
  retryCount: 0,
  attempt: 0,
  createdAt: 0,
  updatedAt: 0,
}
const extracting = S.Extracting({ ...pending, ...noCounts, failuresSince: 0, round: 0 })
const found = {
  runId: RunId.make("00000000-0000-8000-a000-000000000000"),
  batches: 1,
  chunks: 1,
  entities: 2,
  facts: 1,
  forReview: 0,
  calls: 1,
  inputTokens: 0,
  outputTokens: 0,
}

/** A log of its own, in memory. */
const emptyLog = () => Layer.fresh(BatchEventLog.layer().pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" }))))

const standing = Effect.gen(function* () {
  const log = yield* BatchEventLog
  return (yield* log.documents(batchId))[0]
})

const toldSoFar = Effect.gen(function* () {
  const log = yield* BatchEventLog
  const last = yield* log.position
  if (last === 0) return []
  const events = yield* Stream.runCollect(Stream.takeUntil(log.events(), ({ position }) => position >= last))
  return events.map(({ _tag }) => _tag)
})

const ignored = { counted: () => Effect.void }

describe("what two processes at one batch tell of a document", () => {
  const started = DocumentStarted.make({ batchId, at: 1, documentId: document, round: 0 })
  const completed = DocumentCompleted.make({ batchId, at: 2, documentId: document, entityCount: 2, relationCount: 1, reviewCount: 0 })
  const failed = DocumentFailed.make({ batchId, at: 2, documentId: document, round: 0, error: "empty" })
  const emitting = (events: ReadonlyArray<BatchEvent>) =>
    Effect.flatMap(BatchEventLog, (log) => Effect.forEach(events, log.emit, { discard: true }))

  it.effect("stays completed when the late one tells that it began", () =>
    Effect.gen(function* () {
      yield* emitting([started, completed, started])
      expect(yield* standing).toMatchObject({ status: "completed" })
    }).pipe(Effect.provide(emptyLog())),
  )

  it.effect("stays failed when the late one tells that it began, until it is begun with again", () =>
    Effect.gen(function* () {
      yield* emitting([started, failed, started])
      expect(yield* standing).toMatchObject({ status: "failed", error: "empty" })
      yield* emitting([{ ...started, round: 1 }])
      expect(yield* standing).toMatchObject({ status: "processing", error: null })
      yield* emitting([failed])
      expect(yield* standing).toMatchObject({ status: "processing" })
    }).pipe(Effect.provide(emptyLog())),
  )

  const choices = Schema.Array(Schema.Literals(["one", "other"])).check(Schema.isMaxLength(8))
  it.effect.prop("is what became of it, however they come between each other", [choices, Schema.Boolean], ([choice, isDone]) =>
    Effect.gen(function* () {
      const life = [started, failed, { ...started, round: 1 }, isDone ? completed : { ...failed, round: 1 }]
      const queues = { one: [...life], other: [...life] }
      const order = [...choice, ...life.map(() => "one" as const), ...life.map(() => "other" as const)]
      yield* emitting(order.flatMap((who) => queues[who].shift() ?? []))
      expect(yield* standing).toMatchObject({ status: isDone ? "completed" : "failed" })
    }).pipe(Effect.provide(emptyLog())),
  )
})

const completed = { _tag: "Completed", result: found } as const

describe("the report of an extraction", () => {
  it.effect("tells nothing twice after a restart, failures included", () =>
    Effect.gen(function* () {
      const other = DocumentId.make("doc-ba9876543210")
      const once = Effect.gen(function* () {
        const report = yield* startReport(extracting, ignored)
        yield* report.started(document, 0)
        yield* report.ended({ documentId: document }, 0, { _tag: "Failed", problem: "empty" })
        yield* report.started(other, 0)
        yield* report.ended({ documentId: other }, 0, completed)
        yield* report.end
      })
      yield* once
      const first = yield* toldSoFar
      expect(first.filter((tag) => tag !== "StageProgress").sort()).toEqual([
        "DocumentCompleted",
        "DocumentFailed",
        "DocumentStarted",
        "DocumentStarted",
      ])
      yield* once
      expect((yield* toldSoFar).filter((tag) => tag !== "StageProgress")).toHaveLength(4)
    }).pipe(Effect.provide(emptyLog())),
  )

  it.effect("has told the world before it tells the batch, so that nothing is lost when it dies in between", () =>
    Effect.gen(function* () {
      const log = yield* BatchEventLog
      let known: unknown
      const report = yield* startReport(extracting, {
        counted: () =>
          Effect.map(Effect.orDie(log.documents(batchId)), (standings) => {
            known = standings[0]?.status
          }),
      })
      yield* report.started(document, 0)
      yield* report.ended({ documentId: document }, 0, completed)
      yield* report.end
      expect(known).toBe("completed")
    }).pipe(Effect.provide(emptyLog())),
  )

  it.effect("tells at an interrupt what became of documents, and nothing of those under way", () =>
    Effect.gen(function* () {
      const report = yield* startReport(extracting, ignored)
      yield* report.started(document, 0)
      yield* report.ended({ documentId: document }, 0, completed)
      yield* report.started(DocumentId.make("doc-ba9876543210"), 0)
      const work = yield* Effect.forkChild(
        Effect.onError(Effect.never, () => report.rest),
        { startImmediately: true },
      )
      yield* Fiber.interrupt(work)
      expect(yield* toldSoFar).toEqual(["DocumentStarted", "DocumentCompleted"])
    }).pipe(Effect.provide(emptyLog())),
  )

  it.effect("does not keep a process from ending when the log does not answer", () =>
    Effect.gen(function* () {
      const log = yield* BatchEventLog
      const report = yield* Effect.provideService(startReport(extracting, ignored), BatchEventLog, { ...log, emit: () => Effect.never })
      yield* report.ended({ documentId: document }, 0, completed)
      const work = yield* Effect.forkChild(
        Effect.onError(Effect.never, () => report.rest),
        { startImmediately: true },
      )
      const ended = yield* Effect.forkChild(Fiber.interrupt(work), { startImmediately: true })
      // The select before it is done in real time.
      while (ended.pollUnsafe() === undefined) {
        yield* TestClock.adjust("3 seconds")
        yield* TestClock.withLive(Effect.sleep(1))
      }
      expect(Exit.isSuccess(yield* Fiber.await(ended))).toBe(true)
    }).pipe(Effect.provide(emptyLog())),
  )
})

describe("a batch that another process has moved on", () => {
  const counted = E.ExtractionComplete({
    ...noCounts,
    documentsCompleted: 2,
    documentsFailed: 1,
    entityCount: 4,
    relationCount: 2,
    attempt: 0,
  })
  const fault = { code: "Late", message: "the stage was over" }
  const graph = { uri: FileUri.make("file:///data/merged.nt"), hash: ContentHash.make("0123456789abcdef"), triples: 1 }

  it("does not fail because the one that is late cannot finish the stage", () => {
    const { path, refusals } = simulate(BatchMachine, pending, [
      E.StartExtraction(),
      counted,
      E.Fail({ stage: "extracting", attempt: 0, error: fault }),
      E.ResolutionComplete({ graph, entitiesTotal: 4, clustersFormed: 4, against: null, reviewCount: 0, attempt: 0 }),
    ])
    expect(path).toEqual(["Pending", "Extracting", "Resolving", "Validating"])
    expect(refusals.map(({ error }) => error._tag)).toEqual(["TransitionRefused"])
  })

  it("does not fail because of an attempt that is over", () => {
    const { state, refusals } = simulate(BatchMachine, pending, [
      E.StartExtraction(),
      E.Cancel(),
      E.Resume(),
      E.StartExtraction(),
      E.Fail({ stage: "extracting", attempt: 0, error: fault }),
    ])
    expect(state._tag).toBe("Extracting")
    expect(refusals).toHaveLength(1)
  })

  it("counts what the one counted that has been through all documents", () => {
    const { state } = simulate(BatchMachine, pending, [
      E.StartExtraction(),
      E.DocumentsCounted({ ...noCounts, documentsCompleted: 2, documentsFailed: 1, entityCount: 4, relationCount: 2 }),
      E.DocumentsCounted({ ...noCounts, documentsCompleted: 1, documentsFailed: 0, entityCount: 2, relationCount: 1 }),
      counted,
    ])
    expect(state).toMatchObject({ _tag: "Resolving", documentsCompleted: 2, documentsFailed: 1, entityCount: 4, relationCount: 2 })
  })
})
