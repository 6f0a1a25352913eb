import * as graph from "@detent/workspace/operations/graph"
import * as Effect from "effect/Effect"
import { chooseGraph } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { momentText } from "../../output/Moment.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph stats",
    summary: "the size of the graph, and the batches that contributed to it",
    arguments: [],
    options: [namespace],
    examples: [{ line: "detent graph stats --json", says: "one line per graph" }],
  },
  (input) =>
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
    }).pipe(Effect.provide(observing(input))),
)
