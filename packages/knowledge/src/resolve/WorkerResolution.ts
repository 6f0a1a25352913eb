/** Resolves the graphs of documents on a worker: how long names take to be compared depends on what the documents hold. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type SortFailed, sortLines } from "../rdf/LineSort.ts"
import type { TaskName } from "../threads/Tasks.ts"
import type { WorkerError } from "../threads/WorkerError.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import type { ResolveInput, ResolveOutput, ResolveSource } from "./ResolutionTask.ts"
import { type ResolveOptions, resolveGraphs } from "./ResolvedGraph.ts"

export interface ResolvedLines<E, R> {
  /** In order, each once. */
  readonly lines: Stream.Stream<string, E | SortFailed | WorkerError, R>
  /** Known when all lines were read. */
  readonly counts: () => Pick<ResolveOutput, "mentions" | "entities">
}

const task: TaskName = "graph.resolve"

/** How many documents are handed over at once. */
const documentsAtOnce = 8

/** Like `resolveGraphs` with sorted lines, on the pool in the context. Without one, the caller's thread resolves. */
export const resolveOnWorker = <E, R>(options: ResolveOptions<E, R>): Effect.Effect<ResolvedLines<E, R>, E, R> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) {
      const graph = yield* resolveGraphs(options)
      return { lines: sortLines(graph.lines), counts: () => graph }
    }
    let counts = { mentions: 0, entities: 0 }
    const { documents, existing, ontology, base } = options
    const lines = pool.value.stream<E, R>(task, { ontology: ontology.toJSON(), base } satisfies ResolveInput, {
      limit: pool.value.limits.graph,
      sources: {
        documents: Stream.rechunk(
          Stream.mapEffect(documents, (one) => Stream.runCollect(one)),
          documentsAtOnce,
        ),
        existing,
      } satisfies Record<ResolveSource, Stream.Stream<unknown, E, R>>,
      // The task of that name returns so, and emits lines.
      done: (output) => {
        counts = output as ResolveOutput
      },
    })
    return { lines: Stream.map(lines, (line) => line as string), counts: () => counts }
  })
