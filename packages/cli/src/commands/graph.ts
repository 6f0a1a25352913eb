/** `detent graph`: the knowledge graph that batches add to. */
import { text as readAll } from "node:stream/consumers"
import { CanonicalGraph, exportGraph as exported, GraphQuery } from "@detent/knowledge"
import { explained } from "@detent/server/QueryProblem"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { answerText } from "../graph/Answer.ts"
import { currentGraph, namespaces } from "../graph/Choosing.ts"
import type { Handler } from "../Handler.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { writePieces } from "../output/Writing.ts"
import { observing } from "../workspace/Opening.ts"

export const query: Handler<"graph query"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const sparql = input.sparql === "-" ? yield* Effect.promise(() => readAll(process.stdin)) : input.sparql
    return yield* Effect.gen(function* () {
      const version = yield* currentGraph(input.namespace)
      const answer = yield* Effect.flatMap(GraphQuery, (graph) => graph.query(version, sparql, { timeout: input.timeout * 1000 })).pipe(
        Effect.catchTag("QueryRefused", (refused) => Effect.fail(explained(sparql, refused))),
      )
      yield* output.write(output.isJson ? `${answer.body.trimEnd()}\n` : answerText(answer, output.style))
    }).pipe(Effect.provide(observing(input)))
  })

export const exportGraph: Handler<"graph export"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const version = yield* currentGraph(input.namespace)
    const graph = yield* CanonicalGraph.CanonicalGraph
    const pieces = exported(graph.lines(version), input.format)
    const { output: file } = input
    if (file === undefined) return yield* Stream.runForEach(pieces, output.write)
    yield* writePieces(file, pieces)
    yield* output.value({ namespace: version.namespace, version: version.version, format: input.format, file }, () => "")
    yield* output.note(`${file} written`)
  }).pipe(Effect.provide(observing(input)))

export const stats: Handler<"graph stats"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const names = input.namespace === undefined ? yield* namespaces : [input.namespace]
    const rows = yield* Effect.forEach(names.length === 0 ? [undefined] : names, (name) =>
      Effect.map(currentGraph(name), ({ namespace, version, contributions }) => ({
        namespace,
        version,
        triples: contributions.reduce((sum, { triples }) => sum + triples, 0),
        batches: contributions.map(({ batchId, triples, ingestedAt }) => ({ batchId, triples, ingestedAt: ingestedAt.epochMilliseconds })),
      })),
    )
    yield* output.rows(
      rows,
      [
        { title: "GRAPH", of: ({ namespace }) => namespace },
        { title: "VERSION", of: ({ version }) => version },
        { title: "TRIPLES", of: ({ triples }) => triples },
        { title: "BATCHES", of: ({ batches }) => batches.length },
        { title: "LAST ADDED", of: ({ batches }) => momentText(Math.max(...batches.map(({ ingestedAt }) => ingestedAt))) },
      ],
      "no graph",
    )
  }).pipe(Effect.provide(observing(input)))
