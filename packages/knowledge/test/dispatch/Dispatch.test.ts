/** Batches with `dispatch: "tasks"`, on the queues of this process and of the database. */

import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs/Storage"
import { DeadLetters } from "@detent/durable"
import { RetryPolicy } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import { Batches } from "../../src/batch/Batches.ts"
import { E } from "../../src/batch/BatchMachine.ts"
import { noCounts } from "../../src/batch/BatchState.ts"
import { giveUpTask, runTask } from "../../src/dispatch/TaskRun.ts"
import type { Chunk } from "../../src/document/Chunk.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { BatchId } from "../../src/storage/Identity.ts"
import type { Task } from "../../src/tasks/Task.ts"
import { activitiesQueue, TaskQueue, TaskQueueFailed } from "../../src/tasks/TaskQueue.ts"
import { canonical, documentsOf, harbour, lookout, manifest, type Setting } from "../batch/sea.ts"
import { twiceAndLate } from "./unreliableQueue.ts"

const files = documentsOf(6)
const names = Object.keys(files)
const batchId = BatchId.make("batch-0123456789ab")

const quick = { retry: RetryPolicy.fixed({ delay: "5 millis", maxAttempts: 5 }) }

const failing = (retryable: boolean) =>
  new ExtractionFailed({ extractor: "lookout", reason: retryable ? "Unavailable" : "Refused", retryable, detail: "no answer" })

/** When a document was extracted is the one thing that differs. */
const withoutTimes = (text: string) => text.replaceAll(/"[^"]*"\^\^(?:xsd:dateTime|<[^>]*dateTime>)/g, "a time")

/** The graph of a batch, and its end. */
const outcomeOf = (setting: Partial<Setting>, config: object) =>
  Effect.gen(function* () {
    const { data, input, folder, layer } = yield* harbour({ files, taskWorker: quick, ...setting })
    return yield* Effect.gen(function* () {
      const batches = yield* Batches
      yield* batches.start(folder, manifest(names), { batchId, config })
      const end = yield* batches.awaitEnd(batchId)
      return { end, input, graph: yield* canonical(data) }
    }).pipe(Effect.provide(layer))
  })

/** Every third call of the extractor fails, as long as it is not the third for the same text. */
const unreliable = () => {
  const calls = new Map<string, number>()
  let count = 0
  return lookout([], ({ text }: Chunk) => {
    const seen = calls.get(text) ?? 0
    calls.set(text, seen + 1)
    return count++ % 3 === 0 && seen < 2 ? Effect.fail(failing(true)) : Effect.void
  })
}

/** The next task that the batch enqueues. */
const taken = (sent: Array<Task>) => {
  const next = Effect.delay(
    Effect.sync(() => sent.shift()),
    "10 millis",
  )
  return Effect.flatMap(Effect.repeat(next, { until: (task) => task !== undefined }), (task) => Effect.fromNullishOr(task))
}

/** How many stages were measured so far in this process, by stage and outcome. */
const measuredStages = Effect.map(
  Metric.snapshot,
  (metrics) =>
    new Map(
      metrics.flatMap((metric) =>
        metric.id === "detent_stage_milliseconds" && metric.type === "Histogram"
          ? [[`${metric.attributes?.["stage"]} ${metric.attributes?.["outcome"]}`, metric.state.count] as const]
          : [],
      ),
    ),
)

/** A harbour whose queue only notes the tasks, so that the test delivers them. */
const noting = Effect.gen(function* () {
  const sent: Array<Task> = []
  const tasks = Layer.succeed(TaskQueue, {
    patience: undefined,
    enqueue: (activity, input, { key }) => Effect.sync(() => void sent.push({ activity, input, key })),
  })
  const { data, folder, layer } = yield* harbour({ files, tasks })
  return { sent, folder, layer, at: StorageFolder.make(`${pathToFileURL(data)}/`) }
})

describe("a batch by tasks", () => {
  for (const [name, queue] of [
    ["in memory", TaskQueue.layerMemory],
    ["in the database", TaskQueue.layerDurable],
  ] as const)
    it.live(`${name} ends like one in process, byte for byte, though calls fail, come twice and late`, () =>
      Effect.gen(function* () {
        const expected = yield* outcomeOf({}, {})
        assert.strictEqual(expected.end._tag, "Completed")
        const tasks = twiceAndLate(queue, "30 millis")
        const got = yield* outcomeOf({ tasks, extractor: unreliable(), from: expected.input }, { dispatch: "tasks" })
        assert.strictEqual(got.end._tag, "Completed")
        assert.isNotEmpty(got.graph.published)
        assert.strictEqual(withoutTimes(got.graph.published), withoutTimes(expected.graph.published))
        assert.deepStrictEqual(got.graph.lines.map(withoutTimes), expected.graph.lines.map(withoutTimes))
      }).pipe(Effect.scoped),
    )

  it.live("counts what was not read like one in process", () =>
    Effect.gen(function* () {
      const base = lookout([])
      const extractor = {
        ...base,
        entities: (...input: Parameters<typeof base.entities>) =>
          Effect.map(base.entities(...input), (found) => {
            const { offset, text } = input[0]
            return { ...found, misfits: [{ property: "urn:sea:length", text: text.slice(0, 8), span: { start: offset, end: offset + 8 } }] }
          }),
      }
      const unread = (config: object) =>
        Effect.map(outcomeOf({ extractor }, config), ({ end }) => ("misfits" in end ? end.misfits : undefined))
      const inProcess = yield* unread({})
      const byTasks = yield* unread({ dispatch: "tasks" })
      assert.strictEqual(inProcess?.count, names.length)
      assert.strictEqual(byTasks?.count, names.length)
      assert.strictEqual(byTasks?.examples.length, inProcess?.examples.length)
    }).pipe(Effect.scoped),
  )

  it.live("counts a document whose task fails for good as failed, keeps a dead letter, and tries it again when the batch is resumed", () =>
    Effect.gen(function* () {
      let isAway = true
      const bad = Object.values(files)[0] ?? ""
      const extractor = lookout([], ({ text }) => (isAway && text === bad ? Effect.fail(failing(true)) : Effect.void))
      const { data, folder, layer } = yield* harbour({ files, extractor, taskWorker: quick })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.start(folder, manifest(names), { batchId, config: { dispatch: "tasks" } })
        const partial = yield* batches.awaitEnd(batchId)
        assert.deepInclude(partial, { _tag: "PartiallyCompleted", documentsCompleted: 5, documentsFailed: 1 })
        const { commands } = yield* DeadLetters.list({ queue: activitiesQueue })
        assert.strictEqual(commands.length, 1)
        assert.include(commands[0]?.problem, "no answer")
        isAway = false
        yield* batches.resume(batchId)
        const end = yield* batches.awaitEnd(batchId)
        assert.deepInclude(end, { _tag: "Completed", documentsCompleted: 6, documentsFailed: 0, attempt: 1 })
        assert.strictEqual((yield* canonical(data)).passings, 6)
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("takes a task late that names a graph which it has replaced since, and a wrong call by hand fails only the call", () =>
    Effect.gen(function* () {
      const { sent, at, folder, layer } = yield* noting
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const next = taken(sent)
        yield* batches.start(folder, manifest(names), { batchId, config: { dispatch: "tasks" } })
        for (const _ of names) yield* runTask(at, yield* next, false)
        for (const [activity, state, other, wrong] of [
          ["resolution", "Resolving", { documentGraphUris: ["file:///etc/passwd"] }, { documentGraphUris: [`${at}other.nt`] }],
          ["validation", "Validating", { resolvedUri: `${at}other.nt` }, { shaclUri: `${at}other.ttl` }],
          ["ingestion", "Ingesting", { validatedUri: `${at}other.nt` }, { targetNamespace: "land" }],
        ] as const) {
          const task = yield* next
          assert.strictEqual(task.activity, activity)
          const { attempt: _, ...byHand } = task.input as { readonly attempt: number }
          const refused = yield* Effect.flip(runTask(at, { activity, input: { ...byHand, ...other } }, true))
          assert.strictEqual(refused._tag, "TaskGivenUp")
          if (activity !== "resolution") {
            const { outcome } = yield* runTask(at, { activity, input: { ...byHand, ...other, attempt: 0 } }, true)
            assert.strictEqual(outcome, "late")
          }
          // The attempt alone does not make a call one of the batch.
          const called = { activity, input: { ...(task.input as object), ...wrong } }
          assert.deepInclude(yield* Effect.flip(runTask(at, called, true)), { _tag: "TaskGivenUp", isOfInput: true })
          const { batchId: id, attempt } = task.input as { readonly batchId: string; readonly attempt: number }
          if (activity !== "resolution") {
            const incomplete = { activity, input: { batchId: id, attempt } }
            assert.deepInclude(yield* Effect.flip(runTask(at, incomplete, true)), { _tag: "TaskGivenUp", isOfInput: true })
          }
          yield* giveUpTask(at, called, "its process died")
          assert.strictEqual((yield* batches.state(batchId))._tag, state)
          assert.strictEqual((yield* runTask(at, task, false)).outcome, "done")
          // A caller by hand whose answer was lost gets the result again, which the next call needs; after the end it is late.
          const again = yield* runTask(at, { activity, input: byHand }, false)
          assert.strictEqual(again.outcome, activity === "ingestion" ? "late" : "done")
        }
        assert.strictEqual((yield* batches.awaitEnd(batchId))._tag, "Completed")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("fails in the stage whose own task is given up", () =>
    Effect.gen(function* () {
      const { sent, at, folder, layer } = yield* noting
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.start(folder, manifest(names), { batchId, config: { dispatch: "tasks" } })
        for (const _ of names) yield* runTask(at, yield* taken(sent), false)
        yield* giveUpTask(at, yield* taken(sent), "its process died")
        const end = yield* batches.awaitEnd(batchId)
        assert.deepInclude(end, { _tag: "Failed", failedInStage: "resolving", error: { code: "TaskGivenUp", message: "its process died" } })
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("refuses the end of an extraction of an earlier attempt", () =>
    Effect.gen(function* () {
      const holding = Layer.succeed(TaskQueue, { patience: undefined, enqueue: () => Effect.void })
      const { folder, layer } = yield* harbour({ files, tasks: holding })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const extracting = (attempt: number) =>
          batches.watch(batchId).pipe(
            Stream.filter((state) => state._tag === "Extracting" && state.attempt === attempt),
            Stream.runHead,
          )
        yield* batches.start(folder, manifest(names), { batchId, config: { dispatch: "tasks" } })
        yield* extracting(0)
        yield* batches.cancel(batchId)
        yield* batches.resume(batchId)
        yield* extracting(1)
        const counts = { ...noCounts, documentsCompleted: 6, entityCount: 1, relationCount: 1 }
        const refused = yield* Effect.flip(batches.report(batchId, E.ExtractionComplete({ ...counts, attempt: 0 })))
        assert.include(refused.message, "attempt 0")
        assert.strictEqual((yield* batches.state(batchId))._tag, "Extracting")
        yield* batches.report(batchId, E.ExtractionComplete({ ...counts, attempt: 1 }))
        assert.strictEqual((yield* batches.state(batchId))._tag, "Resolving")
      }).pipe(Effect.provide(layer))
    }).pipe(Effect.scoped),
  )

  it.live("measures each stage where it is worked on, and nothing where it is only waited for", () =>
    Effect.gen(function* () {
      const before = yield* measuredStages
      const { end } = yield* outcomeOf({}, { dispatch: "tasks" })
      assert.strictEqual(end._tag, "Completed")
      const after = yield* measuredStages
      const grown = new Map(
        [...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const).filter(([, count]) => count > 0),
      )
      // Each of the last documents may find that all are extracted; the stage is measured once.
      assert.deepStrictEqual(grown, new Map(["extracting", "resolving", "validating", "ingesting"].map((stage) => [`${stage} success`, 1])))
    }).pipe(Effect.scoped),
  )

  it.live("fails where the queue takes no tasks, and says what to do", () =>
    Effect.gen(function* () {
      const refusing = Layer.succeed(TaskQueue, {
        patience: undefined,
        enqueue: () =>
          Effect.fail(
            new TaskQueueFailed({ queue: "q", problem: "404 Queue does not exist.", nextStep: "create the queue", retryable: false }),
          ),
      })
      const { end } = yield* outcomeOf({ tasks: refusing }, { dispatch: "tasks" })
      assert.strictEqual(end._tag, "Failed")
      assert.deepInclude(end._tag === "Failed" ? end.error : {}, { code: "TaskQueueFailed" })
      assert.include(end._tag === "Failed" ? end.error.message : "", "create the queue")
    }).pipe(Effect.scoped),
  )
})
