/** The side of the worker that resolves the graphs of documents. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Ontology } from "../ontology/Ontology.ts"
import { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { sortLines } from "../rdf/LineSort.ts"
import { itemsOf, type TaskChannel } from "../threads/TaskChannel.ts"
import type { Merge } from "./Resolution.ts"
import { resolveGraphs } from "./ResolvedGraph.ts"

export interface ResolveInput {
  readonly ontology: Ontology
  readonly base: string
}

export interface ResolveOutput {
  readonly mentions: number
  readonly entities: number
  readonly merges: ReadonlyArray<Merge>
}

/** The lines of each document, and the lines of the graph as it is. */
export type ResolveSource = "documents" | "existing"

/** Emits the lines of the resolved graph in order, each once. */
export const resolutionTask = ({ ontology, base }: ResolveInput, channel: TaskChannel): Promise<ResolveOutput> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const graph = yield* resolveGraphs({
        documents: Stream.map(itemsOf<ReadonlyArray<string>>(channel, "documents" satisfies ResolveSource), (lines) =>
          Stream.fromIterable(lines),
        ),
        existing: itemsOf<string>(channel, "existing" satisfies ResolveSource),
        ontology: new OntologyIndex(ontology),
        base,
      })
      yield* Stream.runForEachArray(sortLines(graph.lines), (lines) => Effect.promise(() => channel.emit(lines)))
      return { mentions: graph.mentions, entities: graph.entities, merges: graph.merges }
    }),
  )
