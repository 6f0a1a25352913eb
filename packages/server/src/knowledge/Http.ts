/** Answers about the knowledge graph. */
import { CanonicalGraph, contentTypes, exportGraph, type Namespace } from "@detent/knowledge"
import * as graph from "@detent/workspace/operations/graph"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import { KnowledgePart } from "../api/KnowledgePart.ts"
import { makeOperating } from "../serve/Operating.ts"

/** How long a client may keep the one thread that answers queries. */
const queryTimeout = "10 seconds"

export const knowledgeHandlers = HttpApiBuilder.group(
  KnowledgePart,
  "knowledge",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating<KnowledgeServices>()
    const { lines } = yield* CanonicalGraph.CanonicalGraph

    const query = (namespace: Namespace, text: string) =>
      Effect.map(
        Effect.flatMap(graph.current(namespace), (version) => graph.query(version, text, { timeout: queryTimeout })),
        ({ contentType, body }) => HttpServerResponse.text(body, { contentType }),
      )

    return handlers
      .handle("graphs", () => operating(graph.list))
      .handle("graph", ({ params: { namespace } }) => operating(Effect.map(graph.current(namespace), graph.describe)))
      .handle("entities", ({ params: { namespace }, query: asked }) =>
        operating(Effect.flatMap(graph.current(namespace), (version) => graph.entities(version, { ...asked, timeout: queryTimeout }))),
      )
      .handle("relations", ({ params: { namespace }, query: asked }) =>
        operating(Effect.flatMap(graph.current(namespace), (version) => graph.relations(version, { ...asked, timeout: queryTimeout }))),
      )
      .handle("provenance", ({ params: { namespace }, query: { entity, places, ...asked } }) =>
        operating(
          Effect.flatMap(graph.current(namespace), (version) =>
            graph.provenance(version, entity, { ...asked, places: places !== undefined, timeout: queryTimeout }),
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
