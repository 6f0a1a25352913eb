/** Answers about the knowledge graph. */
import { contentTypes, exportGraph, type Namespace } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { optional } from "../optional.ts"
import { answering } from "../ProblemOf.ts"
import { iri, literal, type Row, Sparql } from "../Sparql.ts"

/** How long a client may keep the one thread that answers queries. */
const queryTimeout = "10 seconds"

const number = (text: string | undefined): number => Number(text ?? 0)

const relationOf = ({ subject = "", subjectLabel, property = "", object = "", objectLabel, confidence }: Row) => ({
  subject,
  ...optional({ subjectLabel }),
  property,
  object,
  ...optional({ objectLabel }),
  ...optional({ confidence: confidence === undefined ? undefined : Number(confidence) }),
})

export const knowledgeHandlers = HttpApiBuilder.group(
  Api,
  "knowledge",
  Effect.fnUntraced(function* (handlers) {
    const sparql = yield* Sparql

    const query = (namespace: Namespace, text: string) =>
      Effect.map(sparql.query(namespace, text, { timeout: queryTimeout }), ({ contentType, body }) =>
        HttpServerResponse.text(body, { contentType }),
      )

    return handlers
      .handle("graph", ({ params: { namespace } }) =>
        answering(
          Effect.map(sparql.version(namespace), ({ version, previous, contributions }) => ({
            namespace,
            version,
            ...optional({ previous: Option.getOrUndefined(previous) }),
            contributions: contributions.map(({ batchId, triples, ingestedAt }) => ({
              batchId,
              triples,
              ingestedAt: ingestedAt.epochMilliseconds,
            })),
          })),
        ),
      )
      .handle("entities", ({ params: { namespace }, query: { search, type, limit = 100, after } }) =>
        answering(
          Effect.gen(function* () {
            const rows = yield* sparql.rows(
              namespace,
              `SELECT ?entity (SAMPLE(?name) AS ?label) (GROUP_CONCAT(DISTINCT ?class; separator=" ") AS ?types) WHERE {
                ?entity rdfs:label ?name ; a ?class . FILTER(?class != rdf:Statement)
                ${type === undefined ? "" : `?entity a ${iri(type)} .`}
                ${search === undefined ? "" : `FILTER(CONTAINS(LCASE(?name), LCASE(${literal(search)})))`}
                ${after === undefined ? "" : `FILTER(STR(?entity) > ${literal(after)})`}
              } GROUP BY ?entity ORDER BY STR(?entity) LIMIT ${limit + 1}`,
            )
            const entities = rows.slice(0, limit).map(({ entity = "", label = "", types = "" }) => ({
              iri: entity,
              label,
              types: types.split(" ").filter((one) => one !== ""),
            }))
            return { entities, ...optional({ next: rows.length > limit ? entities.at(-1)?.iri : undefined }) }
          }),
        ),
      )
      .handle("relations", ({ params: { namespace }, query: { entity, property, limit = 100 } }) =>
        answering(
          Effect.map(
            sparql.rows(
              namespace,
              `SELECT ?subject ?subjectLabel ?property ?object ?objectLabel (MAX(?sure) AS ?confidence) WHERE {
                ?fact a rdf:Statement ; rdf:subject ?subject ; rdf:predicate ?property ; rdf:object ?object .
                ${entity === undefined ? "" : `FILTER(?subject = ${iri(entity)} || ?object = ${iri(entity)})`}
                ${property === undefined ? "" : `FILTER(?property = ${iri(property)})`}
                OPTIONAL { ?fact detent:confidence ?sure }
                OPTIONAL { ?subject rdfs:label ?subjectLabel }
                OPTIONAL { ?object rdfs:label ?objectLabel }
              } GROUP BY ?subject ?subjectLabel ?property ?object ?objectLabel ORDER BY ?subject ?property ?object LIMIT ${limit}`,
            ),
            (rows) => ({ relations: rows.map(relationOf) }),
          ),
        ),
      )
      .handle("provenance", ({ params: { namespace }, query: { entity, limit = 100 } }) =>
        answering(
          Effect.map(
            sparql.rows(
              namespace,
              `SELECT ?property ?object ?document ?quote ?start ?end ?confidence ?extractor ?run WHERE {
                ?fact a rdf:Statement ; rdf:subject ${iri(entity)} ; rdf:predicate ?property ; rdf:object ?object ;
                  prov:wasDerivedFrom ?document ; detent:quote ?quote ; detent:start ?start ; detent:end ?end ;
                  detent:confidence ?confidence ; detent:extractor ?extractor ; detent:run ?run .
              } ORDER BY ?property ?object ?document ?start LIMIT ${limit}`,
            ),
            (rows) => ({
              facts: rows.map(({ property = "", object = "", document = "", quote = "", extractor = "", run = "", ...at }) => ({
                property,
                object,
                document,
                quote,
                start: number(at["start"]),
                end: number(at["end"]),
                confidence: number(at["confidence"]),
                extractor,
                run,
              })),
            }),
          ),
        ),
      )
      .handleRaw("query", ({ params, query: { query: text } }) => answering(query(params.namespace, text)))
      .handle("queryBody", ({ params, payload }) => answering(query(params.namespace, payload)))
      .handleRaw("export", ({ params: { namespace }, query: { format } }) =>
        answering(
          Effect.map(sparql.version(namespace), (version) =>
            HttpServerResponse.stream(Stream.encodeText(exportGraph(sparql.lines(version), format)), {
              contentType: contentTypes[format],
            }),
          ),
        ),
      )
  }),
)
