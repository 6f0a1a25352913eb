/** `detent graph`: the knowledge graph that batches add to. */
import { text as readAll } from "node:stream/consumers"
import { CanonicalGraph, exportGraph as exported } from "@detent/knowledge"
import * as batches from "@detent/workspace/operations/batches"
import * as graph from "@detent/workspace/operations/graph"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { batchIdOf } from "../batch/BatchSource.ts"
import { answerText } from "../graph/Answer.ts"
import { chooseGraph } from "../graph/chooseGraph.ts"
import { diffText } from "../graph/diffText.ts"
import type { Handler } from "../Handler.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { writePieces } from "../output/Writing.ts"
import { knowledge } from "../workspace/Opening.ts"

const { observing } = knowledge

export const query: Handler<"graph query"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const sparql = input.sparql === "-" ? yield* Effect.promise(() => readAll(process.stdin)) : input.sparql
    return yield* Effect.gen(function* () {
      const version = yield* chooseGraph(input.namespace)
      const answer = yield* graph.query(version, sparql, { timeout: input.timeout * 1000 })
      yield* output.write(output.isJson ? `${answer.body.trimEnd()}\n` : answerText(answer, output.style))
    }).pipe(Effect.provide(observing(input)))
  })

export const exportGraph: Handler<"graph export"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const version = yield* chooseGraph(input.namespace)
    const { lines } = yield* CanonicalGraph.CanonicalGraph
    const pieces = exported(lines(version), input.format)
    const { output: file } = input
    if (file === undefined) return yield* Stream.runForEach(pieces, output.write)
    yield* writePieces(file, pieces)
    yield* output.value({ namespace: version.namespace, version: version.version, format: input.format, file }, () => "")
    yield* output.note(`${file} written`)
  }).pipe(Effect.provide(observing(input)))

export const diff: Handler<"graph diff"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const changed = yield* batches.changes(yield* batchIdOf(input.batch), input.limit)
    yield* output.value(changed, () => diffText(changed, output.style))
  }).pipe(Effect.provide(observing(input)))

export const stats: Handler<"graph stats"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const names = input.namespace === undefined ? yield* graph.namespaces : [input.namespace]
    const rows = yield* Effect.forEach(names.length === 0 ? [undefined] : names, (name) =>
      Effect.gen(function* () {
        const current = yield* chooseGraph(name)
        const { namespace, version } = current
        return { namespace, version, triples: yield* graph.countTriples(current), batches: graph.contributions(current) }
      }),
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
