/**
 * SPARQL over a version of a graph, in a thread of its own: a query that takes too long is ended with its thread and harms
 * nobody else. The thread keeps the version it has loaded, so that a second query starts at once.
 */
import { existsSync } from "node:fs"
import { Worker } from "node:worker_threads"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import type { ArtifactDamaged } from "../storage/ArtifactStore.ts"
import type { ContentHash } from "../storage/Identity.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { CanonicalGraph, type GraphVersion } from "./CanonicalGraph.ts"
import type { QueryAnswer, QueryRequest } from "./graphQueryThread.ts"

export interface QueryOptions {
  readonly timeout?: Duration.Input
  /** How long the answer may be, in characters. */
  readonly maxLength?: number
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

export type QueryError = QueryRefused | QueryTimedOut | QueryTooLarge | StorageError | ArtifactDamaged

export interface GraphQueryService {
  readonly query: (version: GraphVersion, sparql: string, options?: QueryOptions) => Effect.Effect<QueryResult, QueryError>
}

export class GraphQuery extends Context.Service<GraphQuery, GraphQueryService>()("@detent/knowledge/GraphQuery") {
  static readonly layer: Layer.Layer<GraphQuery, never, CanonicalGraph> = Layer.effect(
    GraphQuery,
    Effect.suspend(() => make),
  )
}

interface Thread {
  readonly worker: Worker
  readonly version: ContentHash
}

const make: Effect.Effect<GraphQueryService, never, CanonicalGraph | Scope.Scope> = Effect.gen(function* () {
  const graph = yield* CanonicalGraph
  const one = yield* Semaphore.make(1)
  let thread: Thread | undefined

  const end = Effect.promise(async () => {
    const ended = thread
    thread = undefined
    await ended?.worker.terminate()
  })
  yield* Effect.addFinalizer(() => end)

  const threadOf = (version: GraphVersion): Effect.Effect<Worker, StorageError | ArtifactDamaged | QueryRefused> =>
    Effect.gen(function* () {
      if (thread?.version === version.version) return thread.worker
      yield* end
      const worker = yield* Effect.sync(() => new Worker(threadFile))
      // A thread that is half filled must not be found by the next query.
      yield* Stream.runForEachArray(graph.lines(version), (lines) => ask(worker, { _tag: "Load", text: `${lines.join("\n")}\n` })).pipe(
        Effect.onExit((exit) => (exit._tag === "Success" ? Effect.void : Effect.promise(() => worker.terminate()))),
      )
      thread = { worker, version: version.version }
      return worker
    })

  return {
    query: (version, sparql, options = {}) => {
      const timeout = Duration.fromInputUnsafe(options.timeout ?? "30 seconds")
      const maxLength = options.maxLength ?? 10_000_000
      const run = Effect.gen(function* () {
        const worker = yield* threadOf(version)
        const answer = yield* ask(worker, { _tag: "Query", sparql }).pipe(
          Effect.onInterrupt(() => end),
          Effect.timeoutOrElse({
            duration: timeout,
            orElse: () => Effect.fail(new QueryTimedOut({ afterMillis: Duration.toMillis(timeout) })),
          }),
        )
        const { contentType, body } = answer
        return body.length > maxLength ? yield* new QueryTooLarge({ length: body.length, maxLength }) : { contentType, body }
      })
      return one.withPermits(1)(run)
    },
  }
})

/** From sources this is TypeScript, in a built package JavaScript. */
const threadFile = new URL(
  existsSync(new URL("./graphQueryThread.ts", import.meta.url)) ? "./graphQueryThread.ts" : "./graphQueryThread.js",
  import.meta.url,
)

/** The thread outlives the question, so whatever listened for the answer is taken off it, however the question ends. */
const ask = (worker: Worker, request: QueryRequest): Effect.Effect<QueryResult, QueryRefused> =>
  Effect.callback<QueryResult, QueryRefused>((resume) => {
    const answered = (answer: Effect.Effect<QueryResult, QueryRefused>) => {
      stopListening()
      resume(answer)
    }
    const refuse = (error: unknown) =>
      answered(Effect.fail(new QueryRefused({ problem: error instanceof Error ? error.message : String(error) })))
    const onExit = () => refuse("the thread that answers queries ended; ask again")
    const onMessage = (answer: QueryAnswer) => (answer._tag === "Refused" ? refuse(answer.problem) : answered(Effect.succeed(answer)))
    const stopListening = () => worker.off("error", refuse).off("exit", onExit).off("message", onMessage)
    worker.on("error", refuse).on("exit", onExit).on("message", onMessage).postMessage(request)
    return Effect.sync(stopListening)
  })
