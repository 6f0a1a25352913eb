/** A process that runs one batch, or continues with it, until it is killed or the batch has ended. */
import { appendFileSync } from "node:fs"
import { flushCompileCache } from "node:module"
import { pathToFileURL } from "node:url"
import { FileStorage } from "@detent/blobs"
import { RelativePath, Storage, StorageFolder } from "@detent/blobs/Storage"
import * as PostgresStore from "@detent/durable/PostgresStore"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { RetryPolicy } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import * as Stream from "effect/Stream"
import { Batches } from "../../../src/batch/Batches.ts"
import { ExtractionFailed } from "../../../src/extract/Extractor.ts"
import * as Knowledge from "../../../src/Knowledge.ts"
import { Extractors } from "../../../src/runs/Extractors.ts"
import { textHashOf } from "../../../src/runs/ExtractStep.ts"
import { BatchId, Namespace } from "../../../src/storage/Identity.ts"
import { TaskQueue } from "../../../src/tasks/TaskQueue.ts"
import { twiceAndLate } from "../../dispatch/unreliableQueue.ts"
import type { Told, Work } from "./Work.ts"

const tell = (told: Told) => process.send?.(told)

/** Every third call fails, and may succeed when it is repeated. */
const everyThirdFails = () => {
  let count = 0
  return Effect.suspend(() =>
    count++ % 3 === 0
      ? Effect.fail(new ExtractionFailed({ extractor: "built-in", reason: "Unavailable", retryable: true, detail: "no answer" }))
      : Effect.void,
  )
}

/** The built-in extractor, which notes what it is asked about before it answers. */
const noting = (calls: string, pause: number, fault: Effect.Effect<void, ExtractionFailed>) =>
  Layer.effect(
    Extractors,
    Effect.map(Extractors, ({ equip, ...others }) => ({
      ...others,
      equip: (setting) =>
        Effect.map(equip(setting), ({ ontology, extractor }) => ({
          ontology,
          extractor: {
            ...extractor,
            entities: (chunk, index) =>
              Effect.gen(function* () {
                appendFileSync(calls, `${textHashOf([chunk])}\n`)
                yield* Effect.sleep(pause)
                yield* fault
                return yield* extractor.entities(chunk, index)
              }),
          },
        })),
    })),
  ).pipe(Layer.provide(Extractors.layerBuiltIn))

/** Files that take a while before and after they are written: time to be killed in. */
const slowFiles = (data: string, input: string) =>
  Layer.effect(
    Storage,
    Effect.map(FileStorage.make({ root: data, readable: [input] }), (files) => ({
      ...files,
      set: (uri, content, precondition) => slowly(files.set(uri, content, precondition)),
      setStream: (uri, content, precondition) => slowly(files.setStream(uri, content, precondition)),
    })),
  )

const slowly = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.delay(Effect.tap(effect, Effect.sleep("10 millis")), "10 millis")

const storeOf = (database: string) =>
  database.startsWith("postgres") ? PostgresStore.layer({ url: database }) : SqliteStore.layer({ filename: database })

const run = ({ node, database, data, input, names, batchId, calls, pause = 5, task, byTasks = false }: Work) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const id = BatchId.make(batchId)
    if (task === "cancel") {
      yield* batches.cancel(id)
      tell({ _tag: "State", state: yield* batches.state(id) })
      return
    }
    if (task === "wait") {
      tell({ _tag: "State", state: yield* batches.state(id) })
      return yield* Effect.never
    }
    const [first = { source: RelativePath.make("none") }, ...others] = names.map((name) => ({ source: RelativePath.make(name) }))
    const manifest = {
      targetNamespace: Namespace.make("generated"),
      ontology: RelativePath.make("ontology.ttl"),
      documents: [first, ...others] as const,
    }
    yield* batches.start(StorageFolder.make(`${pathToFileURL(input)}/`), manifest, {
      batchId: id,
      config: { concurrency: 4, dispatch: byTasks ? "tasks" : "process" },
    })
    yield* Stream.runForEach(batches.watch(id), (state) => Effect.sync(() => tell({ _tag: "State", state })))
  }).pipe(
    Effect.provide(
      Knowledge.layer({
        folder: data,
        nodeId: node,
        extractors: noting(calls, pause, byTasks ? everyThirdFails() : Effect.void),
        ...(byTasks
          ? {
              tasks: twiceAndLate(TaskQueue.layerDurable, "200 millis"),
              // A process that is killed uses up one attempt of each of its tasks.
              taskWorker: { concurrency: 4, retry: RetryPolicy.fixed({ delay: "20 millis", maxAttempts: 50 }) },
            }
          : {}),
        storage: slowFiles(data, input),
        // As the command line opens a workspace to act on one batch.
        ...(task === "cancel" ? { engine: { resume: false, worker: false } } : {}),
      }).pipe(Layer.provide(storeOf(database))),
    ),
    Effect.provideService(References.MinimumLogLevel, "Error"),
  )

process.on("message", (work: Work) => {
  Effect.runPromise(run(work)).then(
    () => process.disconnect(),
    (problem: unknown) => {
      tell({ _tag: "Problem", problem: String(problem) })
      process.disconnect()
    },
  )
})
// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
tell({ _tag: "Ready" })
