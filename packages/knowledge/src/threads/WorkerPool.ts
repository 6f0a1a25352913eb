/**
 * The worker processes of this package, for reading documents and ontologies, training and the built-in extractor, resolution,
 * validation and queries; and how much time and memory the work on one piece of user content may take. A worker that exceeds a limit is
 * killed and replaced; only the document, ontology, batch or query that it worked on fails.
 */
import { makeProcessPool, moduleBeside, type ProcessPool, type ProcessPoolOptions, type TaskLimit } from "@detent/processes"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

export interface ContentLimits {
  /** Reading a document: PDF, HTML, Markdown and JSON as a whole, CSV in parts. */
  readonly document: TaskLimit
  /** One chunk of a document by the built-in extractor. */
  readonly chunk: TaskLimit
  /** Loading an ontology or shapes, and training the built-in extractor with an ontology. */
  readonly ontology: TaskLimit
  /** Resolving and validating the graph of a batch. */
  readonly graph: TaskLimit
  /** A SPARQL query, including the loading of its graph. The caller may set a shorter time. */
  readonly query: TaskLimit
}

const isTime = (value: unknown): value is Duration.Input => {
  const time = Duration.fromInput(value as Duration.Input)
  return Option.isSome(time) && Duration.isGreaterThan(time.value, Duration.zero)
}

/** An idle worker process already uses half of this. */
const leastMemory = 200

const Limit = Schema.Struct({
  time: Schema.optionalKey(Schema.declare(isTime, { expected: 'a duration above zero, such as "2 minutes"' })),
  memory: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(leastMemory))),
})

/** Limits as a caller writes them. A limit that is left out has its default. */
export const ContentLimitOptions = Schema.Struct({
  document: Schema.optionalKey(Limit),
  chunk: Schema.optionalKey(Limit),
  ontology: Schema.optionalKey(Limit),
  graph: Schema.optionalKey(Limit),
  query: Schema.optionalKey(Limit),
} satisfies Record<keyof ContentLimits, unknown>)
export type ContentLimitOptions = typeof ContentLimitOptions.Type

export const defaultContentLimits: ContentLimits = {
  document: { time: "60 seconds", memory: 1024 },
  chunk: { time: "60 seconds", memory: 1024 },
  ontology: { time: "60 seconds", memory: 1024 },
  graph: { time: "10 minutes", memory: 4096 },
  query: { time: "30 seconds", memory: 2048 },
}

export const contentLimitsOf = (options: ContentLimitOptions = {}): ContentLimits => ({
  document: { ...defaultContentLimits.document, ...options.document },
  chunk: { ...defaultContentLimits.chunk, ...options.chunk },
  ontology: { ...defaultContentLimits.ontology, ...options.ontology },
  graph: { ...defaultContentLimits.graph, ...options.graph },
  query: { ...defaultContentLimits.query, ...options.query },
})

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
    entry: moduleBeside(import.meta.url, "../WorkerEntry"),
    limit: limits.chunk,
    heap: Math.max(...Object.values(limits).map(({ memory }) => memory)),
    keptBelow: limits.document.memory / 2,
    ...options,
  })
  return Effect.map(pool, (made) => ({ ...made, limits }))
}
