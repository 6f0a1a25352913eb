/** Queries of our own against a graph. Whatever a client gives stands in them as a literal or an IRI, never as a part of the query. */
import { CanonicalGraph, GraphQuery, type GraphQueryService, type Namespace } from "@detent/knowledge"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { GraphNotFound } from "./NotThere.ts"

const prefixes = `
  PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
  PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
  PREFIX prov: <http://www.w3.org/ns/prov#>
  PREFIX detent: <urn:detent:vocabulary:>`

/** A text as SPARQL writes it. JSON escapes what SPARQL wants escaped, in the same way. */
export const literal = (text: string): string => JSON.stringify(text.toWellFormed())

/** An IRI as SPARQL writes it. The API takes only IRIs without the characters that could end it. */
export const iri = (address: string): string => `<${address}>`

const Answer = Schema.fromJsonString(
  Schema.Struct({
    results: Schema.Struct({ bindings: Schema.Array(Schema.Record(Schema.String, Schema.Struct({ value: Schema.String }))) }),
  }),
)

export type Row = Readonly<Record<string, string | undefined>>

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
      Effect.flatMap(version(namespace), (current) => queries.query(current, sparql, options)),
    /** The rows of a query of our own. */
    rows: (namespace: Namespace, sparql: string) =>
      Effect.gen(function* () {
        const { body } = yield* queries.query(yield* version(namespace), `${prefixes}\n${sparql}`)
        const { results } = yield* Effect.orDie(Schema.decodeEffect(Answer)(body))
        return results.bindings.map((binding): Row => Object.fromEntries(Object.entries(binding).map(([name, { value }]) => [name, value])))
      }),
  }
})

export class Sparql extends Context.Service<Sparql, Effect.Success<typeof make>>()("@detent/server/Sparql") {
  static readonly layer = Layer.effect(Sparql, make)
}
