import { text as readAll } from "node:stream/consumers"
import * as graph from "@detent/workspace/operations/graph"
import * as Effect from "effect/Effect"
import { answerText } from "../../graph/Answer.ts"
import { chooseVersion } from "../../graph/chooseGraph.ts"
import { command } from "../../line/Command.ts"
import { Output } from "../../output/Output.ts"
import { knowledge } from "../../workspace/Opening.ts"
import { namespace, versionOption } from "./shared.ts"

const { observing } = knowledge

export default command(
  {
    name: "graph query",
    summary: "query the graph with SPARQL",
    arguments: [{ name: "sparql", summary: "the query, or - to read it from stdin" }],
    options: [
      namespace,
      versionOption,
      { name: "timeout", kind: "integer", value: "SECONDS", default: 30, summary: "stop the query after this time" },
    ],
    examples: [
      {
        line: 'detent graph query "SELECT ?name { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?name } LIMIT 5"',
        says: "prints a table; --json prints SPARQL JSON",
      },
      { line: "detent graph query - < question.rq", says: "a query from a file" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const sparql = input.sparql === "-" ? yield* Effect.promise(() => readAll(process.stdin)) : input.sparql
      return yield* Effect.gen(function* () {
        const version = yield* chooseVersion(input)
        const answer = yield* graph.query(version, sparql, { timeout: input.timeout * 1000 })
        if (output.isJson) return yield* output.write(`${answer.body.trimEnd()}\n`)
        yield* output.text(answerText(answer, output.style))
      }).pipe(Effect.provide(observing(input)))
    }),
)
