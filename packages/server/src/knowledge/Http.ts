/** Answers about the knowledge graph. */
import {
  CanonicalGraph,
  contentTypes,
  exportGraph,
  GraphFacts,
  type GraphObject,
  type GraphRelation,
  type Namespace,
  type SourcedFact,
} from "@detent/knowledge"
import * as graph from "@detent/workspace/operations/graph"
import { optional, paged } from "@detent/workspace/optional"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { KnowledgePart } from "../api/KnowledgePart.ts"
import { makeOperating } from "../serve/Operating.ts"

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
  KnowledgePart,
  "knowledge",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating<KnowledgeServices>()
    const { lines } = yield* CanonicalGraph.CanonicalGraph
    const facts = yield* GraphFacts

    const query = (namespace: Namespace, text: string) =>
      Effect.map(
        Effect.flatMap(graph.current(namespace), (version) => graph.query(version, text, { timeout: queryTimeout })),
        ({ contentType, body }) => HttpServerResponse.text(body, { contentType }),
      )

    return handlers
      .handle("graphs", () => operating(graph.list))
      .handle("graph", ({ params: { namespace } }) => operating(Effect.map(graph.current(namespace), graph.describe)))
      .handle("entities", ({ params: { namespace }, query: asked }) =>
        operating(
          Effect.map(
            Effect.flatMap(graph.current(namespace), (version) => facts.entities(version, { ...asked, timeout: queryTimeout })),
            ({ items, next }) => paged({ entities: items }, next),
          ),
        ),
      )
      .handle("relations", ({ params: { namespace }, query: asked }) =>
        operating(
          Effect.map(
            Effect.flatMap(graph.current(namespace), (version) => facts.relations(version, { ...asked, timeout: queryTimeout })),
            ({ items, next }) => paged({ relations: items.map(relationOf) }, next),
          ),
        ),
      )
      .handle("provenance", ({ params: { namespace }, query: { entity, ...asked } }) =>
        operating(
          Effect.map(
            Effect.flatMap(graph.current(namespace), (version) => facts.factsOf(version, entity, { ...asked, timeout: queryTimeout })),
            ({ items, next }) => paged({ facts: items.map(provenanceOf) }, next),
          ),
        ),
      )
      .handleRaw("query", ({ params, query: { query: text } }) => operating(query(params.namespace, text)))
      .handle("queryBody", ({ params, payload }) => operating(query(params.namespace, payload)))
      .handleRaw("report", ({ params: { namespace }, query: { batch, limit = 1000 } }) =>
        operating(
          Effect.gen(function* () {
            const { pieces, contentPolicy } = yield* graph.report(yield* graph.current(namespace), { batch, limit })
            const context = yield* Effect.context<KnowledgeServices>()
            return HttpServerResponse.stream(Stream.provideContext(Stream.encodeText(pieces), context), {
              contentType: "text/html; charset=utf-8",
              headers: {
                "content-security-policy": contentPolicy,
                "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
                "cache-control": "no-store",
              },
            })
          }),
        ),
      )
      .handleRaw("export", ({ params: { namespace }, query: { format } }) =>
        operating(
          Effect.map(graph.current(namespace), (version) =>
            HttpServerResponse.stream(Stream.encodeText(exportGraph(lines(version), format)), {
              contentType: contentTypes[format],
            }),
          ),
        ),
      )
  }),
)
