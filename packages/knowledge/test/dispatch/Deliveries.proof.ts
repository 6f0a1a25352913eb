/** Two deliveries of tasks of one batch at the same time, in orders that the tests force. */
import { pathToFileURL } from "node:url"
import { Storage, StorageFailed, StorageFolder, type StorageService } from "@detent/blobs/Storage"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { resolveEntities } from "../../src/batch/GraphStages.ts"
import { giveUpTask, runTask } from "../../src/dispatch/TaskRun.ts"
import { ExtractionFailed, type ExtractorService } from "../../src/extract/Extractor.ts"
import { storedLines } from "../../src/graph/GraphLines.ts"
import { ReviewStore } from "../../src/review/ReviewStore.ts"
import { BatchId } from "../../src/storage/Identity.ts"
import type { Task } from "../../src/tasks/Task.ts"
import { TaskQueue } from "../../src/tasks/TaskQueue.ts"
import { canonical, documentsOf, harbour, lookout, manifest, sea } from "../batch/sea.ts"

const files = documentsOf(2)
const names = Object.keys(files)
const batchId = BatchId.make("batch-0123456789ab")

/** A point that one delivery reaches, and where it waits until it may pass. */
const gate = () => {
  const [arrived, opened] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  const open = Deferred.succeed(opened, undefined)
  return { wait: Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(opened)), reached: Deferred.await(arrived), open }
}

const away = (uri: string) => new StorageFailed({ uri, operation: "write", retryable: true, cause: new Error("no answer came") })

/** Does `before` ahead of the writes of a file, with the number of the write, from when it is set. */
const intercepted = (name: string) => {
  const writes = { count: 0, before: (_count: number): Effect.Effect<void, StorageFailed> => Effect.void }
  const ahead = (uri: string) => (uri.endsWith(name) ? Effect.suspend(() => writes.before(++writes.count)) : Effect.void)
  const storage = (one: StorageService): StorageService => ({
    ...one,
    set: (uri, content, precondition) => Effect.andThen(ahead(uri), one.set(uri, content, precondition)),
    setStream: (uri, content, precondition) => Effect.andThen(ahead(uri), one.setStream(uri, content, precondition)),
  })
  return { writes, storage }
}

/** Unsure of every fact, so that none is stated before a user accepts it. */
const unsure: ExtractorService = {
  ...lookout([]),
  facts: (...asked) =>
    Effect.map(lookout([]).facts(...asked), ({ facts, usage }) => ({ usage, facts: facts.map((fact) => ({ ...fact, confidence: 0.3 })) })),
}

/** A batch whose tasks the test delivers. */
const delivering = (setting: { readonly storage?: (one: StorageService) => StorageService; readonly extractor?: ExtractorService }) =>
  Effect.gen(function* () {
    const sent: Array<Task> = []
    const tasks = Layer.succeed(TaskQueue, {
      patience: undefined,
      enqueue: (activity, input, { key }) => Effect.sync(() => void sent.push({ activity, input, key })),
    })
    const { data, folder, layer } = yield* harbour({ files, tasks, ...setting })
    const at = StorageFolder.make(`${pathToFileURL(data)}/`)
    const shifted = Effect.delay(
      Effect.sync(() => sent.shift()),
      "10 millis",
    )
    const next = Effect.flatMap(Effect.repeat(shifted, { until: (task) => task !== undefined }), (task) => Effect.fromNullishOr(task))
    const deliver = (task: Task, isLast = false) => runTask(at, task, isLast)
    const start = Effect.flatMap(Batches, (batches) =>
      batches.start(folder, manifest(names), { batchId, config: { dispatch: "tasks", validation: "warn" } }),
    )
    /** Delivers tasks until the next one is that of the ingestion, and returns it. */
    const untilIngestion = Effect.gen(function* () {
      for (;;) {
        const task = yield* next
        if (task.activity === "ingestion") return task
        yield* Effect.catchTag(deliver(task), "TaskGivenUp", () => Effect.void)
      }
    })
    return { data, layer, sent, next, deliver, start, untilIngestion, giveUp: (task: Task) => giveUpTask(at, task, "its process died") }
  })

/** How many facts of the documents the graph holds, and its file shows. */
const held = (data: string) =>
  Effect.map(canonical(data), ({ passings, published }) => ({
    passings,
    published: published.match(/rdf:predicate sea:passed/g)?.length ?? 0,
  }))

/** What a failed batch has added is taken back after it has failed. */
const heldAfter = (data: string, passings: number) =>
  Effect.repeat(Effect.delay(held(data), "20 millis"), { until: (found) => found.passings === passings && found.published === passings })

describe("two deliveries at once", () => {
  it.live("of the ingestion: one that fails after the other has ended takes nothing out of the graph", () =>
    Effect.gen(function* () {
      const { writes, storage } = intercepted("entities.ttl")
      const { data, layer, start, untilIngestion, deliver } = yield* delivering({ storage })
      yield* Effect.gen(function* () {
        yield* start
        const task = yield* untilIngestion
        const failing = gate()
        writes.before = (count) => (count === 1 ? Effect.andThen(failing.wait, Effect.fail(away("entities.ttl"))) : Effect.void)
        const first = yield* Effect.forkChild(Effect.exit(deliver(task)))
        yield* failing.reached
        assert.strictEqual((yield* deliver(task)).outcome, "done")
        yield* failing.open
        yield* Fiber.join(first)
        assert.strictEqual((yield* Effect.flatMap(Batches, (batches) => batches.state(batchId)))._tag, "Completed")
        assert.deepStrictEqual(yield* held(data), { passings: 2, published: 2 })
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("of the ingestion: one that fails while the other publishes takes nothing out of the graph", () =>
    Effect.gen(function* () {
      const { writes, storage } = intercepted("entities.ttl")
      const { data, layer, start, untilIngestion, deliver } = yield* delivering({ storage })
      yield* Effect.gen(function* () {
        yield* start
        const task = yield* untilIngestion
        const [failing, publishing] = [gate(), gate()]
        writes.before = (count) =>
          count === 1 ? Effect.andThen(failing.wait, Effect.fail(away("entities.ttl"))) : count === 2 ? publishing.wait : Effect.void
        const first = yield* Effect.forkChild(Effect.flip(deliver(task)))
        yield* failing.reached
        const second = yield* Effect.forkChild(deliver(task))
        yield* publishing.reached
        yield* failing.open
        assert.strictEqual((yield* Fiber.join(first))._tag, "TaskPostponed")
        yield* publishing.open
        assert.strictEqual((yield* Fiber.join(second)).outcome, "done")
        assert.strictEqual((yield* Effect.flatMap(Batches, (batches) => batches.state(batchId)))._tag, "Completed")
        assert.deepStrictEqual(yield* held(data), { passings: 2, published: 2 })
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("of the ingestion: the graph that the other has moved is not one that another batch has moved", () =>
    Effect.gen(function* () {
      const { writes, storage } = intercepted("current.json")
      const { data, layer, sent, start, untilIngestion, deliver } = yield* delivering({ storage })
      yield* Effect.gen(function* () {
        yield* start
        const task = yield* untilIngestion
        const pointing = gate()
        writes.before = (count) => (count === 1 ? pointing.wait : Effect.void)
        const first = yield* Effect.forkChild(deliver(task))
        yield* pointing.reached
        assert.strictEqual((yield* deliver(task)).outcome, "done")
        yield* pointing.open
        assert.strictEqual((yield* Fiber.join(first)).outcome, "done")
        assert.strictEqual((yield* Effect.flatMap(Batches, (batches) => batches.state(batchId)))._tag, "Completed")
        assert.deepStrictEqual(yield* held(data), { passings: 2, published: 2 })
        assert.isEmpty(sent)
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("of the ingestion: one that adds its facts after the batch has failed takes them back", () =>
    Effect.gen(function* () {
      const { writes, storage } = intercepted("current.json")
      const { data, layer, start, untilIngestion, deliver, giveUp } = yield* delivering({ storage })
      yield* Effect.gen(function* () {
        yield* start
        const task = yield* untilIngestion
        const pointing = gate()
        writes.before = (count) => (count === 1 ? pointing.wait : Effect.void)
        const first = yield* Effect.forkChild(deliver(task))
        yield* pointing.reached
        yield* giveUp(task)
        assert.strictEqual((yield* Effect.flatMap(Batches, (batches) => batches.awaitEnd(batchId)))._tag, "Failed")
        yield* pointing.open
        yield* Fiber.join(first)
        assert.deepStrictEqual(yield* held(data), { passings: 0, published: 0 })
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("of the resolution: a fact that is accepted between them is in a file of its own", () =>
    Effect.gen(function* () {
      const { data, layer, start, next, deliver } = yield* delivering({ extractor: unsure })
      yield* Effect.gen(function* () {
        const [batches, reviews, storage] = [yield* Batches, yield* ReviewStore, yield* Storage]
        yield* start
        yield* deliver(yield* next)
        yield* deliver(yield* next)
        const state = yield* batches.state(batchId)
        if (state._tag !== "Resolving") return assert.fail(state._tag)
        const resolved = resolveEntities(StorageFolder.make(`${pathToFileURL(data)}/`), state)
        const first = yield* resolved
        assert.deepStrictEqual((yield* resolved).graph, first.graph)
        // In the list of another batch that has the same documents.
        const listed = yield* reviews.list(batchId, { limit: 10 })
        yield* reviews.decide(listed.map((one) => ({ ...one, namespace: sea, verdict: "accepted", by: "ada", at: 1, state: "applied" })))
        const second = yield* resolved
        assert.isAbove(second.graph.triples, first.graph.triples)
        for (const { graph } of [first, second])
          assert.strictEqual((yield* Stream.runCollect(storedLines(storage, graph))).length, graph.triples)
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("of documents: one that finds all of them extracted moves the batch on, though the other has not come to it", () =>
    Effect.gen(function* () {
      const { layer, start, next, deliver } = yield* delivering({})
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* start
        const [one, other] = [yield* next, yield* next]
        const [counting, ending] = [gate(), gate()]
        let ends = 0
        const report: (typeof batches)["report"] = (id, event, eventId) => {
          if (event._tag === "DocumentsCounted") return Effect.andThen(counting.wait, batches.report(id, event, eventId))
          const isFirst = event._tag === "ExtractionComplete" && ends++ === 0
          return Effect.andThen(isFirst ? ending.wait : Effect.void, batches.report(id, event, eventId))
        }
        const held = (task: Task) => Effect.forkChild(Effect.provideService(deliver(task), Batches, { ...batches, report }))
        const first = yield* held(one)
        yield* counting.reached
        const second = yield* held(other)
        yield* ending.reached
        yield* counting.open
        assert.strictEqual((yield* Fiber.join(first)).outcome, "done")
        assert.strictEqual((yield* batches.state(batchId))._tag, "Resolving")
        yield* ending.open
        assert.strictEqual((yield* Fiber.join(second)).outcome, "done")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )
})

describe("an ingestion that is given up", () => {
  it.live("takes back what it has added, and leaves what the batch had added before it was resumed", () =>
    Effect.gen(function* () {
      let isUnreadable = true
      const [, bad = ""] = Object.values(files)
      const refused = new ExtractionFailed({ extractor: "lookout", reason: "Refused", retryable: false, detail: "not now" })
      const extractor = lookout([], ({ text }) => (isUnreadable && text === bad ? Effect.fail(refused) : Effect.void))
      const { writes, storage } = intercepted("entities.ttl")
      const { data, layer, start, untilIngestion, deliver } = yield* delivering({ storage, extractor })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* start
        writes.before = (count) => (count === 1 ? Effect.fail(away("entities.ttl")) : Effect.void)
        const first = yield* untilIngestion
        assert.strictEqual((yield* Effect.flip(deliver(first, true)))._tag, "TaskGivenUp")
        assert.deepInclude(yield* batches.awaitEnd(batchId), { _tag: "Failed", failedInStage: "ingesting" })
        yield* heldAfter(data, 0)
        yield* batches.resume(batchId)
        yield* deliver(yield* untilIngestion)
        assert.deepInclude(yield* batches.awaitEnd(batchId), { _tag: "PartiallyCompleted", documentsFailed: 1 })
        assert.deepStrictEqual(yield* held(data), { passings: 1, published: 1 })
        isUnreadable = false
        yield* batches.resume(batchId)
        const second = yield* untilIngestion
        const failing = writes.count + 1
        writes.before = (count) => (count === failing ? Effect.fail(away("entities.ttl")) : Effect.void)
        assert.strictEqual((yield* Effect.flip(deliver(second, true)))._tag, "TaskGivenUp")
        assert.deepInclude(yield* batches.awaitEnd(batchId), { _tag: "Failed", failedInStage: "ingesting", attempt: 2 })
        yield* heldAfter(data, 1)
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )
})
