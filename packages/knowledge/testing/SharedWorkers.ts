/**
 * Worker processes that the pipelines of many tests share: to start one takes longer than the work of most tests. They end with the
 * process of the tests. A pipeline with content limits of its own has workers of its own.
 *
 *     Knowledge.layerEmbedded({ folder }).pipe(Layer.provide(sharedWorkers))
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { makeWorkerPool, WorkerPool, type WorkerPoolService } from "../src/threads/WorkerPool.ts"

/** Longer than the tests of a run are without them: they start once. */
const patience = "10 minutes"

let pool: WorkerPoolService | undefined

export const sharedWorkers: Layer.Layer<WorkerPool> = Layer.sync(WorkerPool, () => {
  pool ??= Effect.runSync(Scope.provide(makeWorkerPool({ patience }), Scope.makeUnsafe()))
  return pool
})
