/**
 * The worker processes of this package: for reading documents and ontologies, training and the built-in extractor, resolution,
 * validation and queries.
 */
import { makeProcessPool, moduleBeside, type ProcessPool, type ProcessPoolOptions } from "@detent/durable/ProcessPool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { type ContentLimitOptions, type ContentLimits, contentLimitsOf } from "./ContentLimits.ts"

/** By default, a worker that uses more than half of the memory limit of a document is replaced after its task. */
export interface WorkerPoolOptions extends Omit<Partial<ProcessPoolOptions>, "limit" | "heap"> {
  readonly limits?: ContentLimitOptions
}

export interface WorkerPoolService extends ProcessPool {
  readonly limits: ContentLimits
}

export class WorkerPool extends Context.Service<WorkerPool, WorkerPoolService>()("@detent/knowledge/WorkerPool") {
  static readonly layer = (options: WorkerPoolOptions = {}): Layer.Layer<WorkerPool> => Layer.effect(WorkerPool, makeWorkerPool(options))

  /** The pool in the context, or one of its own. */
  static readonly layerInContext: Layer.Layer<WorkerPool> = Layer.unwrap(
    Effect.map(
      Effect.suspend(() => WorkerPool.inContext),
      Option.match({ onNone: () => WorkerPool.layer(), onSome: (pool) => Layer.succeed(WorkerPool, pool) }),
    ),
  )

  /** The pool in the context, for work that runs in the caller's own thread when there is none. */
  static readonly inContext: Effect.Effect<Option.Option<WorkerPoolService>> = Effect.suspend(() => Effect.serviceOption(WorkerPool))
}

export const makeWorkerPool = ({
  limits: given,
  ...options
}: WorkerPoolOptions = {}): Effect.Effect<WorkerPoolService, never, Scope.Scope> => {
  const limits = contentLimitsOf(given)
  const pool = makeProcessPool({
    entry: moduleBeside(import.meta.url, "WorkerEntry"),
    limit: limits.chunk,
    heap: Math.max(...Object.values(limits).map(({ memory }) => memory)),
    keptBelow: limits.document.memory / 2,
    ...options,
  })
  return Effect.map(pool, (made) => ({ ...made, limits }))
}
