/** Facts of the graph with the quotes that support them. */
import { basename } from "node:path"
import { CanonicalGraph, documentIdOf, GraphQuery, type Manifest, type Namespace } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export interface SourcedFact {
  readonly subject: string
  readonly property: string
  readonly object: string
  readonly quote: string
  readonly source: string
}

const query = (limit: number) => `
  PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
  PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
  PREFIX prov: <http://www.w3.org/ns/prov#>
  PREFIX detent: <urn:detent:vocabulary:>
  SELECT (SAMPLE(?s) AS ?subject) ?property (SAMPLE(?o) AS ?object) (SAMPLE(?q) AS ?quote) (SAMPLE(?d) AS ?document) (MAX(?c) AS ?sure)
  WHERE {
    ?fact a rdf:Statement ; rdf:subject ?entity ; rdf:predicate ?property ; rdf:object ?value ;
      detent:quote ?q ; detent:confidence ?c ; prov:wasDerivedFrom ?d .
    ?entity rdfs:label ?s .
    OPTIONAL { ?value rdfs:label ?name }
    BIND (COALESCE(?name, ?value) AS ?o)
  }
  GROUP BY ?property ORDER BY DESC(?sure) LIMIT ${limit}`

const Value = Schema.Struct({ value: Schema.String })
const Answer = Schema.fromJsonString(
  Schema.Struct({
    results: Schema.Struct({
      bindings: Schema.Array(Schema.Struct({ subject: Value, property: Value, object: Value, quote: Value, document: Value })),
    }),
  }),
)

/** The fact with the highest confidence of each of a few properties. */
export const someFacts = (namespace: Namespace, documents: Manifest["documents"], limit: number) =>
  Effect.gen(function* () {
    const graph = yield* CanonicalGraph.CanonicalGraph
    const version = yield* graph.current(namespace)
    if (Option.isNone(version)) return []
    const { body } = yield* (yield* GraphQuery).query(version.value, query(limit))
    const { results } = yield* Schema.decodeEffect(Answer)(body)
    const names = new Map(documents.map(({ sourceUri }) => [`urn:detent:document:${documentIdOf(sourceUri)}`, basename(sourceUri)]))
    return results.bindings.map(
      ({ subject, property, object, quote, document }): SourcedFact => ({
        subject: subject.value,
        property: property.value.slice(property.value.lastIndexOf("#") + 1),
        object: object.value,
        quote: quote.value.replace(/\s+/g, " "),
        source: names.get(document.value) ?? document.value,
      }),
    )
  })
