/**
 * Worker processes that the pipelines of many tests share, since starting one takes longer than most tests. They end with the test
 * process. A pipeline with custom content limits starts its own workers.
 *
 *     Knowledge.layerEmbedded({ folder }).pipe(Layer.provide(sharedWorkers))
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { makeWorkerPool, WorkerPool, type WorkerPoolService } from "../src/threads/WorkerPool.ts"

/** Longer than a test run leaves the workers idle, so that they start once. */
const patience = "10 minutes"

let pool: WorkerPoolService | undefined

export const sharedWorkers: Layer.Layer<WorkerPool> = Layer.sync(WorkerPool, () => {
  pool ??= Effect.runSync(Scope.provide(makeWorkerPool({ patience }), Scope.makeUnsafe()))
  return pool
})
