/** Handlers of the knowledge API. */

import { AskedQuestion, IdentityChange, IdentityUndo, ofVersion } from "@detent/api/KnowledgeApi"
import { KnowledgePart } from "@detent/api/KnowledgePart"
import { pageSize } from "@detent/api/Paging"
import type { ContentHash } from "@detent/blobs"
import { CanonicalGraph, contentTypes, exportGraph, type Namespace } from "@detent/knowledge"
import { ask } from "@detent/workspace/operations/ask"
import * as graph from "@detent/workspace/operations/graph"
import * as explore from "@detent/workspace/operations/graphExplore"
import * as identities from "@detent/workspace/operations/identities"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Stream from "effect/Stream"
import { makeChanging, makeOperating, operator, readParameter, refuseUnknownKeys } from "../serve/Operating.ts"

/** How long one query may occupy the thread that answers all queries. */
const queryTimeout = "10 seconds"

export const knowledgeHandlers = HttpApiBuilder.group(
  KnowledgePart,
  "knowledge",
  Effect.fnUntraced(function* (handlers) {
    const operating = yield* makeOperating<KnowledgeServices>()
    const changing = yield* makeChanging<KnowledgeServices>()
    const identityKeys = refuseUnknownKeys(IdentityChange)
    const undoKeys = refuseUnknownKeys(IdentityUndo)
    const questionKeys = refuseUnknownKeys(AskedQuestion)
    const { lines } = yield* CanonicalGraph.CanonicalGraph

    const query = (namespace: Namespace, chosen: ContentHash | undefined, text: string) =>
      Effect.map(
        Effect.flatMap(explore.versionOf(namespace, chosen), (version) => graph.query(version, text, { timeout: queryTimeout })),
        ({ contentType, body }) => HttpServerResponse.text(body, { contentType }),
      )

    return handlers
      .handle("graphs", () => operating(graph.list))
      .handle("graph", ({ params: { namespace }, request }) =>
        Effect.flatMap(readParameter(request, ofVersion), (chosen) =>
          operating(Effect.flatMap(explore.versionOf(namespace, chosen), graph.describe)),
        ),
      )
      .handle("versions", ({ params: { namespace }, query: { limit = pageSize, after } }) =>
        operating(explore.versions(namespace, { limit, after })),
      )
      .handle("diff", ({ params: { namespace }, query: { from, to, limit = 1000 } }) => operating(explore.diff(namespace, from, to, limit)))
      .handle("neighbourhood", ({ params: { namespace }, query: { entity, version: chosen, ...asked } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) =>
            explore.neighbourhood(version, entity, { ...asked, timeout: queryTimeout }),
          ),
        ),
      )
      .handle("facts", ({ params: { namespace }, query: { version: chosen, ...asked } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) => explore.facts(version, { ...asked, timeout: queryTimeout })),
        ),
      )
      .handle("documentText", ({ params: { namespace, documentId }, query: { version: chosen, ...span } }) =>
        operating(Effect.flatMap(explore.versionOf(namespace, chosen), (version) => explore.documentText(version, documentId, span))),
      )
      .handle("vocabulary", ({ params: { namespace }, query: { version: chosen } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) => explore.vocabulary(version, { timeout: queryTimeout })),
        ),
      )
      .handle("entities", ({ params: { namespace }, query: { version: chosen, ...asked } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) => graph.entities(version, { ...asked, timeout: queryTimeout })),
        ),
      )
      .handle("relations", ({ params: { namespace }, query: { version: chosen, ...asked } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) => graph.relations(version, { ...asked, timeout: queryTimeout })),
        ),
      )
      .handle("provenance", ({ params: { namespace }, query: { entity, places, version: chosen, ...asked } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) =>
            graph.provenance(version, entity, { ...asked, places: places !== undefined, timeout: queryTimeout }),
          ),
        ),
      )
      .handleRaw("query", ({ params, query: { query: text, version } }) => operating(query(params.namespace, version, text)))
      .handle("queryBody", ({ params, request, payload }) =>
        Effect.flatMap(readParameter(request, ofVersion), (version) => operating(query(params.namespace, version, payload))),
      )
      .handle("bearing", ({ params: { namespace }, query: { question, limit, version: chosen } }) =>
        operating(
          Effect.flatMap(explore.versionOf(namespace, chosen), (version) =>
            ask(version, question, { model: false, ...(limit === undefined ? {} : { limit }) }),
          ),
        ),
      )
      .handle("ask", (input) => {
        const { question, ...asked } = input.payload
        const answer = Effect.flatMap(graph.current(input.params.namespace), (version) => ask(version, question, asked))
        return Effect.andThen(questionKeys(input.request), changing(input, answer))
      })
      .handle("identities", ({ params: { namespace }, query: { limit = pageSize, after } }) =>
        operating(identities.list(namespace, { limit, after })),
      )
      .handle("decideIdentity", (input) => {
        const { request, params, payload } = input
        const decision = identities.decide(params.namespace, { ...payload, by: payload.by ?? operator })
        return Effect.andThen(identityKeys(request), changing(input, decision))
      })
      .handle("undoIdentity", (input) => {
        const { request, params, payload } = input
        const undoing = identities.undo(params.namespace, params.decision, payload.by ?? operator)
        return Effect.andThen(undoKeys(request), changing(input, undoing))
      })
      .handleRaw("report", ({ params: { namespace }, query: { batch, limit = 1000, version: chosen } }) =>
        operating(
          Effect.gen(function* () {
            const { pieces, contentPolicy } = yield* graph.report(yield* explore.versionOf(namespace, chosen), { batch, limit })
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
      .handleRaw("export", ({ params: { namespace }, query: { format, factsOnly, version: chosen } }) =>
        operating(
          Effect.map(explore.versionOf(namespace, chosen), (version) =>
            HttpServerResponse.stream(Stream.encodeText(exportGraph(lines(version), format, { isFactsOnly: factsOnly !== undefined })), {
              contentType: contentTypes[format],
            }),
          ),
        ),
      )
  }),
)
