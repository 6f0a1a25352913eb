/**
 * SPARQL over a version of a graph, on a worker pool of its own: a query that exceeds its time or memory is killed with its worker,
 * while another worker answers other queries. A worker keeps the version it has loaded, so that a second query starts immediately.
 */

import type { StorageError } from "@detent/blobs/Storage"
import { limitText, type WorkerError } from "@detent/processes"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { ArtifactDamaged } from "../storage/ArtifactStore.ts"
import { type ContentLimitOptions, makeWorkerPool } from "../threads/WorkerPool.ts"
import { CanonicalGraph, type GraphVersion } from "./CanonicalGraph.ts"
import { graphLines, type LoadInput, type QueryAnswer, type QueryInput } from "./GraphStore.ts"
import { nestingOf } from "./SparqlText.ts"

export interface QueryOptions {
  /** Default: the time limit of queries. Includes waiting for a worker and loading the graph. */
  readonly timeout?: Duration.Input
  /** Maximum length of the answer, in characters. */
  readonly maxLength?: number
  /** Marks a query written by this package: one worker is reserved for these. */
  readonly isFixed?: boolean
}

export interface QueryResult {
  /** SPARQL JSON for `select` and `ask`, N-Triples for `construct` and `describe`. */
  readonly contentType: string
  readonly body: string
}

export class QueryRefused extends Schema.TaggedError<QueryRefused>()("QueryRefused", { problem: Schema.String }) {
  override get message() {
    return `the query was refused: ${this.problem}`
  }
}

export class QueryTimedOut extends Schema.TaggedError<QueryTimedOut>()("QueryTimedOut", { afterMillis: Schema.Number }) {
  override get message() {
    return `the query had no answer after ${this.afterMillis} ms and was ended; make it more specific, or allow more time`
  }
}

export class QueryTooLarge extends Schema.TaggedError<QueryTooLarge>()("QueryTooLarge", {
  length: Schema.Number,
  maxLength: Schema.Number,
}) {
  override get message() {
    return `the answer is ${this.length} characters long, more than ${this.maxLength}; add a LIMIT, or export the graph`
  }
}

export class QueryMemoryExceeded extends Schema.TaggedError<QueryMemoryExceeded>()("QueryMemoryExceeded", { limit: Schema.String }) {
  override get message() {
    return `the query needed more than ${this.limit} and was ended; make it more specific, add a LIMIT, or raise contentLimits.query.memory`
  }
}

export type QueryError = QueryRefused | QueryTimedOut | QueryTooLarge | QueryMemoryExceeded | StorageError | ArtifactDamaged

export interface GraphQueryService {
  readonly query: (version: GraphVersion, sparql: string, options?: QueryOptions) => Effect.Effect<QueryResult, QueryError>
}

export class GraphQuery extends Context.Service<GraphQuery, GraphQueryService>()("@detent/knowledge/GraphQuery") {
  static readonly layer: Layer.Layer<GraphQuery, never, CanonicalGraph> = Layer.suspend(() => GraphQuery.layerWith({}))

  static readonly layerWith = (limits: ContentLimitOptions): Layer.Layer<GraphQuery, never, CanonicalGraph> =>
    Layer.effect(GraphQuery, make(limits))
}

/** One for any query, and one reserved for fixed queries. Each holds a copy of the graph it queried last. */
const workers = 2

/** How long an idle worker keeps its graph in memory. */
const patience = "10 minutes"

/** Deeper than any query that a person writes. Bounded because the parser recurses on each level. */
const deepestNesting = 100

const make = (options: ContentLimitOptions): Effect.Effect<GraphQueryService, never, CanonicalGraph | Scope.Scope> =>
  Effect.gen(function* () {
    const graph = yield* CanonicalGraph
    const scope = yield* Effect.scope
    const pool = yield* makeWorkerPool({ size: workers, queue: 64, limits: options, keptBelow: Number.POSITIVE_INFINITY, patience })
    const limit = pool.limits.query
    const callerQueries = Semaphore.makeUnsafe(workers - 1)

    /** Runs a task on a version of the graph; the worker loads the version unless it holds it already. */
    const ask = (version: GraphVersion, task: "graph.load" | "graph.query", input: LoadInput | QueryInput) =>
      pool.run(task, input, undefined, { limit, attempts: 1, affinity: version.version, sources: { [graphLines]: graph.lines(version) } })

    /** A killed worker loses its copy of the graph. Loads it again in the background, so that the next query need not wait. */
    const reload = (version: GraphVersion) =>
      Effect.asVoid(
        Effect.forkIn(
          Effect.catch(ask(version, "graph.load", { version: version.version }), (error) =>
            Effect.logDebug(`the graph ${version.namespace} was not loaded again: ${error.message}`),
          ),
          scope,
        ),
      )

    return {
      query: (version, sparql, { timeout, maxLength = 10_000_000, isFixed = false } = {}) => {
        if (nestingOf(sparql) > deepestNesting)
          return Effect.fail(new QueryRefused({ problem: `it is nested more than ${deepestNesting} deep; write it in a flatter way` }))
        const allowed = Duration.min(Duration.fromInputUnsafe(timeout ?? limit.time), Duration.fromInputUnsafe(limit.time))
        const timedOut = new QueryTimedOut({ afterMillis: Duration.toMillis(allowed) })
        const asked = ask(version, "graph.query", { version: version.version, sparql, maxLength }).pipe(
          Effect.mapError((error) => (isOfWorker(error) ? queryError(error, timedOut, limitText(limit, "memory")) : error)),
        )
        return (isFixed ? asked : callerQueries.withPermit(asked)).pipe(
          Effect.timeoutOrElse({ duration: allowed, orElse: () => Effect.fail(timedOut) }),
          Effect.tapError(({ _tag }) => (_tag === "QueryTimedOut" || _tag === "QueryMemoryExceeded" ? reload(version) : Effect.void)),
          // The pool returns the result type of the named task.
          Effect.map((output) => output as QueryAnswer),
          Effect.flatMap((answer) =>
            answer._tag === "TooLarge"
              ? Effect.fail(new QueryTooLarge({ length: answer.length, maxLength }))
              : Effect.succeed({ contentType: answer.contentType, body: answer.body }),
          ),
        )
      },
    }
  })

const isOfWorker = (error: WorkerError | StorageError | ArtifactDamaged): error is WorkerError =>
  error._tag === "TaskFailed" || error._tag === "LimitExceeded" || error._tag === "WorkerCrashed"

const queryError = (error: WorkerError, timedOut: QueryTimedOut, memory: string): QueryError => {
  switch (error._tag) {
    case "TaskFailed":
      return new QueryRefused({ problem: error.problem })
    case "LimitExceeded":
      return error.exceeded === "time" ? timedOut : new QueryMemoryExceeded({ limit: memory })
    case "WorkerCrashed":
      return new QueryRefused({ problem: `the query worker crashed (${error.problem}); retry, or ask for less` })
  }
}
