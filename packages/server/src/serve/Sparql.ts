/** The current graph of a namespace, and SPARQL over it. */
import { CanonicalGraph, GraphQuery, type GraphQueryService, type Namespace } from "@detent/knowledge"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { GraphNotFound } from "./NotThere.ts"
import { explained } from "./QueryProblem.ts"

const make = Effect.gen(function* () {
  const graph = yield* CanonicalGraph.CanonicalGraph
  const queries = yield* GraphQuery

  const version = (namespace: Namespace) =>
    Effect.flatMap(
      graph.current(namespace),
      Option.match({ onNone: () => Effect.fail(new GraphNotFound({ namespace })), onSome: Effect.succeed }),
    )

  return {
    version,
    lines: graph.lines,
    query: (namespace: Namespace, sparql: string, options?: Parameters<GraphQueryService["query"]>[2]) =>
      Effect.flatMap(version(namespace), (current) => queries.query(current, sparql, options)).pipe(
        Effect.catchTag("QueryRefused", (refused) => Effect.fail(explained(sparql, refused))),
      ),
  }
})

export class Sparql extends Context.Service<Sparql, Effect.Success<typeof make>>()("@detent/server/Sparql") {
  static readonly layer = Layer.effect(Sparql, make)
}
