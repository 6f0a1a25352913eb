/** How long a batch by tasks waits for a task, on a clock that the tests advance. */

import { MemoryStorage } from "@detent/blobs"
import { blobIn, getText, MemUri, Storage, StorageFolder } from "@detent/blobs/Storage"
import * as SqliteClient from "@detent/durable/SqliteClient"
import { assert, describe, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import * as TestClock from "effect/testing/TestClock"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { BatchEvent } from "../../src/batch/BatchMachine.ts"
import { defaultBatchConfig, noCounts, S } from "../../src/batch/BatchState.ts"
import { dispatchStage } from "../../src/batch/BatchWork.ts"
import { ManifestJson } from "../../src/batch/Manifest.ts"
import { stageRequest } from "../../src/dispatch/StageRun.ts"
import { BatchId, DocumentId, Namespace, OntologyVersion } from "../../src/storage/Identity.ts"
import { pathsOfBatch } from "../../src/storage/Paths.ts"
import type { Task } from "../../src/tasks/Task.ts"
import { keepDeadTask, TaskQueue, TaskQueueFailed } from "../../src/tasks/TaskQueue.ts"
import { documentsOf, harbour, manifest } from "../batch/sea.ts"

const batchId = BatchId.make("batch-0123456789ab")
const uri = MemUri.make("mem://data/manifest.json")
const documents = ["doc-00000000000a", "doc-00000000000b", "doc-00000000000c"].map((id) => DocumentId.make(id))

const begun = {
  batchId,
  manifestUri: uri,
  ontologyVersion: OntologyVersion.make("sea/ontology@0123456789abcdef"),
  targetNamespace: Namespace.make("sea"),
  config: { ...defaultBatchConfig, dispatch: "tasks" as const },
  documentsTotal: documents.length,
  retryCount: 0,
  attempt: 0,
  createdAt: 0,
  updatedAt: 0,
}
const extracting = S.Extracting({ ...begun, ...noCounts, failuresSince: 0, round: 0 })
const resolving = S.Resolving({ ...begun, ...noCounts, resolvedAgain: 0 })

/** A queue that notes the keys of its tasks and runs none. */
const noting = (patience: Duration.Input | undefined, refusals = 0) => {
  const keys: Array<string> = []
  let refused = 0
  const layer = Layer.succeed(TaskQueue, {
    patience: patience === undefined ? undefined : Duration.fromInputUnsafe(patience),
    enqueue: (_, __, { key }) =>
      Effect.suspend(() => {
        if (refused++ < refusals)
          return Effect.fail(new TaskQueueFailed({ queue: "q", problem: "503", nextStep: "it is tried again", retryable: true }))
        keys.push(key.slice(batchId.length + 1))
        return Effect.void
      }),
  })
  return { keys, layer }
}

const stored = Effect.gen(function* () {
  const storage = yield* Storage
  const text = yield* Schema.encodeEffect(ManifestJson)({
    batchId,
    createdAt: DateTime.makeUnsafe(0),
    targetNamespace: begun.targetNamespace,
    ontologyUri: uri,
    ontologyVersion: begun.ontologyVersion,
    documents: documents.map((documentId) => ({
      documentId,
      sourceUri: uri,
      contentType: "text/plain",
      sizeBytes: 1,
    })),
  })
  yield* storage.set(uri, text)
})

/** A stage that is one task reads neither files nor events. */
const unused = Layer.mergeAll(Layer.mock(Storage)({}), Layer.mock(BatchEventLog)({}))

/** Files and events of the test's own. */
const kept = () =>
  Layer.fresh(
    Layer.mergeAll(MemoryStorage.layer, BatchEventLog.layer()).pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" }))),
  )

const away = new SqlError({ reason: new ConnectionError({ cause: new Error("the connection was cut"), operation: "query" }) })

/** Advances the clock, and waits in real time for what follows from it. */
const pass = (time: Duration.Input) => Effect.andThen(TestClock.adjust(time), TestClock.withLive(Effect.sleep("20 millis")))

describe("a stage by tasks", () => {
  it.effect("sends a task again when the queue's patience is over, each time under a key of its own", () => {
    const { keys, layer } = noting("2 hours")
    return Effect.gen(function* () {
      yield* Effect.forkChild(dispatchStage(resolving), { startImmediately: true })
      yield* pass("119 minutes")
      assert.deepStrictEqual(keys, ["0:resolution:0:turn-0"])
      yield* pass("1 minute")
      assert.deepStrictEqual(keys.slice(1), ["0:resolution:0:turn-1"])
      yield* pass("2 hours")
      yield* pass("2 hours")
      assert.deepStrictEqual(keys.slice(2), ["0:resolution:0:turn-2", "0:resolution:0:turn-3"])
    }).pipe(Effect.provide([layer, unused]))
  })

  it.effect("sends nothing new after a restart, until the patience of the task is over that was sent before it", () => {
    const { keys, layer } = noting("2 hours")
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(dispatchStage(resolving), { startImmediately: true })
      yield* pass("3 hours")
      assert.deepStrictEqual(keys.splice(0), ["0:resolution:0:turn-0", "0:resolution:0:turn-1"])
      yield* Fiber.interrupt(first)
      yield* Effect.forkChild(dispatchStage(resolving), { startImmediately: true })
      yield* pass("59 minutes")
      // The key that the queue has.
      assert.deepStrictEqual(keys.splice(0), ["0:resolution:0:turn-1"])
      yield* pass("1 minute")
      assert.deepStrictEqual(keys, ["0:resolution:0:turn-2"])
    }).pipe(Effect.provide([layer, unused]))
  })

  it.effect("sends those documents again that are not done", () => {
    const { keys, layer } = noting("2 seconds")
    return Effect.gen(function* () {
      yield* stored
      yield* Effect.forkChild(dispatchStage(extracting), { startImmediately: true })
      yield* pass("1 second")
      assert.deepStrictEqual(
        keys.splice(0),
        documents.map((id) => `0:extraction:${id}:turn-0`),
      )
      const log = yield* BatchEventLog
      const [first, second, third] = documents
      const { DocumentCompleted, DocumentFailed } = BatchEvent.cases
      yield* log.emit(
        DocumentCompleted.make({ batchId, at: 1, documentId: first as DocumentId, entityCount: 0, relationCount: 0, reviewCount: 0 }),
      )
      yield* log.emit(DocumentFailed.make({ batchId, at: 1, documentId: third as DocumentId, round: 0, error: "empty" }))
      yield* pass("1 second")
      assert.deepStrictEqual(keys, [`0:extraction:${second}:turn-1`])
    }).pipe(Effect.provide([layer, kept()]))
  })

  it.effect("waits for ever where the queue gives no task up in silence", () => {
    const { keys, layer } = noting(undefined)
    return Effect.gen(function* () {
      const waiting = yield* Effect.forkChild(dispatchStage(resolving), { startImmediately: true })
      yield* pass("30 days")
      assert.deepStrictEqual(keys, ["0:resolution:0:turn-0"])
      assert.isUndefined(waiting.pollUnsafe())
    }).pipe(Effect.provide([layer, unused]))
  })

  it.effect("outlasts a queue that is away, and tries it at least every 30 seconds", () => {
    const refusals = 40
    const { keys, layer } = noting("2 hours", refusals)
    return Effect.gen(function* () {
      yield* Effect.forkChild(dispatchStage(resolving), { startImmediately: true })
      yield* pass("10 minutes")
      assert.deepStrictEqual(keys, [])
      yield* pass("10 minutes")
      assert.deepStrictEqual(keys, ["0:resolution:0:turn-0"])
    }).pipe(Effect.provide([layer, unused]))
  })

  it.effect("outlasts a database that is away", () => {
    const { keys, layer } = noting("2 hours")
    return Effect.gen(function* () {
      yield* stored
      const log = yield* BatchEventLog
      let asked = 0
      const standings: typeof log.standings = (...request) =>
        Effect.suspend(() => (asked++ < 3 ? Effect.die(away) : log.standings(...request)))
      const waiting = yield* Effect.forkChild(Effect.provideService(dispatchStage(extracting), BatchEventLog, { ...log, standings }), {
        startImmediately: true,
      })
      yield* pass("1 minute")
      assert.isUndefined(waiting.pollUnsafe())
      assert.strictEqual(keys.length, documents.length)
    }).pipe(Effect.provide([layer, kept()]))
  })
})

describe("an activity", () => {
  it.effect("is refused where its batch has not begun after a while, and not run as if there were none", () =>
    Effect.gen(function* () {
      yield* stored
      const batches = Layer.mock(Batches)({ watch: () => Stream.never, state: () => Effect.succeed(S.Pending(begun)) })
      const folder = StorageFolder.make("mem://data/")
      const storage = yield* Storage
      yield* storage.set(blobIn(folder, pathsOfBatch(batchId).manifest), yield* getText(storage, uri))
      const requested = Effect.provide(stageRequest(folder, batchId, "Extracting"), batches)
      const asking = yield* Effect.forkChild(Effect.flip(requested), { startImmediately: true })
      yield* pass("11 seconds")
      assert.match((yield* Fiber.join(asking)).message, /is Pending; start a process that works on it/)
    }).pipe(Effect.provide(MemoryStorage.layer)),
  )
})

describe("a batch by tasks", () => {
  it.effect("is notified of a dead letter that no process could report, within half a minute", () =>
    Effect.gen(function* () {
      const files = documentsOf(2)
      const sent: Array<Task> = []
      // Nothing runs a task: each has killed every process that began with it.
      const tasks = Layer.succeed(TaskQueue, {
        patience: undefined,
        enqueue: (activity, input, { key }) => Effect.sync(() => void sent.push({ activity, input, key })),
      })
      const { folder, layer } = yield* harbour({ files, tasks })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.start(folder, manifest(Object.keys(files)), { batchId, config: { dispatch: "tasks" } })
        while (sent.length < 2) yield* TestClock.withLive(Effect.sleep("10 millis"))
        yield* Effect.forEach(sent, (task) => keepDeadTask(task, "the process died"), { discard: true })
        assert.strictEqual((yield* batches.state(batchId))._tag, "Extracting")
        const ended = yield* Effect.forkChild(batches.awaitEnd(batchId), { startImmediately: true })
        let seconds = 0
        for (; ended.pollUnsafe() === undefined && seconds < 120; seconds++) yield* pass("1 second")
        assert.isAtLeast(seconds, 10)
        const end = yield* Fiber.join(ended)
        assert.deepInclude(end, { documentsCompleted: 0, documentsFailed: 2 })
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )
})
