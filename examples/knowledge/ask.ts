/**
 * Queries the graph of `npm run demo` with SPARQL.
 *
 * Run it: `npx node examples/knowledge/ask.ts "SELECT ?name WHERE { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?name } LIMIT 5"`
 */
import { CanonicalGraph, GraphQuery } from "@detent/knowledge"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { live, namespace } from "./Corpus.ts"

export const ask = (sparql: string) =>
  Effect.gen(function* () {
    const graph = yield* CanonicalGraph.CanonicalGraph
    const version = yield* graph.current(namespace)
    if (Option.isNone(version)) return "there is no graph yet: run `npm run demo` first"
    return (yield* (yield* GraphQuery).query(version.value, sparql)).body
  })

if (import.meta.main) {
  const [sparql = "SELECT ?name WHERE { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?name } LIMIT 5"] = process.argv.slice(2)
  await Effect.runPromise(Effect.flatMap(ask(sparql), Console.log).pipe(Effect.provide(live(".detent/demo"))))
}
