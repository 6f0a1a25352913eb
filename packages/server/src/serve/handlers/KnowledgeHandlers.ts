/** Answers about the knowledge graph. */
import {
  contentTypes,
  exportGraph,
  GraphFacts,
  type GraphObject,
  type GraphRelation,
  type Namespace,
  type SourcedFact,
} from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { Api } from "../../api/Api.ts"
import { optional } from "../optional.ts"
import { answering } from "../ProblemOf.ts"
import { paged } from "../paged.ts"
import { Sparql } from "../Sparql.ts"

/** How long a client may keep the one thread that answers queries. */
const queryTimeout = "10 seconds"

const objectOf = (object: GraphObject) =>
  object._tag === "Value"
    ? { object: object.text, datatype: object.datatype }
    : { object: object.iri, ...optional({ objectLabel: object.label }) }

const relationOf = ({ subject, property, object, confidence, witnesses }: GraphRelation) => ({
  subject: subject.iri,
  ...optional({ subjectLabel: subject.label }),
  property,
  ...objectOf(object),
  confidence,
  witnesses,
})

const provenanceOf = ({ subject: _, object, runId, ...said }: SourcedFact) => ({ ...said, ...objectOf(object), run: runId })

export const knowledgeHandlers = HttpApiBuilder.group(
  Api,
  "knowledge",
  Effect.fnUntraced(function* (handlers) {
    const sparql = yield* Sparql
    const facts = yield* GraphFacts

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
      .handle("entities", ({ params: { namespace }, query: asked }) =>
        answering(
          Effect.map(
            Effect.flatMap(sparql.version(namespace), (version) => facts.entities(version, { ...asked, timeout: queryTimeout })),
            ({ items, next }) => paged({ entities: items }, next),
          ),
        ),
      )
      .handle("relations", ({ params: { namespace }, query: asked }) =>
        answering(
          Effect.map(
            Effect.flatMap(sparql.version(namespace), (version) => facts.relations(version, { ...asked, timeout: queryTimeout })),
            ({ items, next }) => paged({ relations: items.map(relationOf) }, next),
          ),
        ),
      )
      .handle("provenance", ({ params: { namespace }, query: { entity, ...asked } }) =>
        answering(
          Effect.map(
            Effect.flatMap(sparql.version(namespace), (version) => facts.factsOf(version, entity, { ...asked, timeout: queryTimeout })),
            ({ items, next }) => paged({ facts: items.map(provenanceOf) }, next),
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
