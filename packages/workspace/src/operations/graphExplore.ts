/** Exploring a graph: its versions and the changes between two, the neighbourhood of an entity, the text behind a fact. */

import { type ContentHash, contentHashOf, Storage } from "@detent/blobs"
import {
  CanonicalGraph,
  type DocumentId,
  diffGraphs,
  Extractions,
  GraphFacts,
  GraphQuery,
  type GraphQueryService,
  type GraphRelation,
  type Namespace,
} from "@detent/knowledge"
import { explain } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { DocumentNotFound } from "../errors.ts"
import { optional, paged } from "../optional.ts"
import { current, provenanceOf } from "./graph.ts"

type GraphVersion = Parameters<GraphQueryService["query"]>[0]
type QueryOptions = NonNullable<Parameters<GraphQueryService["query"]>[2]>

/** A version of a graph. Default: the current one. */
export const versionOf = (namespace: Namespace, version: ContentHash | undefined) =>
  version === undefined
    ? current(namespace)
    : Effect.andThen(
        current(namespace),
        Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.version(namespace, version)),
      )

const summaryOf = ({ version, previous, contributions }: GraphVersion, triples: number) => ({
  version,
  ...optional({ previous: Option.getOrUndefined(previous) }),
  batches: contributions.length,
  triples,
  // A withdrawal stores no time, so the time of the latest remaining batch is shown.
  ...optional({ at: contributions.map(({ ingestedAt }) => ingestedAt.epochMilliseconds).sort((one, other) => other - one)[0] }),
})

/** The versions of a graph, newest first, after a given version. A version whose file is missing ends the list. */
export const versions = Effect.fn("graphExplore.versions")(function* (
  namespace: Namespace,
  { limit, after }: { readonly limit: number; readonly after?: ContentHash | undefined },
) {
  const graph = yield* CanonicalGraph.CanonicalGraph
  const found: Array<ReturnType<typeof summaryOf>> = []
  let one: GraphVersion | undefined = yield* versionOf(namespace, after)
  if (after !== undefined) one = yield* previousOf(graph, one)
  while (one !== undefined && found.length < limit) {
    found.push(summaryOf(one, yield* graph.countTriples(one)))
    one = yield* previousOf(graph, one)
  }
  return paged({ versions: found }, one === undefined ? undefined : found.at(-1)?.version)
})

const previousOf = (graph: (typeof CanonicalGraph.CanonicalGraph)["Service"], { namespace, previous }: GraphVersion) =>
  Option.isNone(previous)
    ? Effect.succeed<GraphVersion | undefined>(undefined)
    : Effect.catchTag(graph.version(namespace, previous.value), "GraphVersionUnknown", () =>
        Effect.succeed<GraphVersion | undefined>(undefined),
      )

/** The facts that documents state in one version and not in the other. */
export const diff = Effect.fn("graphExplore.diff")(function* (
  namespace: Namespace,
  from: ContentHash,
  to: ContentHash | undefined,
  limit: number,
) {
  const graph = yield* CanonicalGraph.CanonicalGraph
  const before = yield* graph.version(namespace, from)
  const after = yield* versionOf(namespace, to)
  const changed = yield* diffGraphs(graph.lines(before), graph.lines(after), { limit })
  return { namespace, from: before.version, to: after.version, ...changed }
})

/** The most nodes of a neighbourhood. */
export const mostNodes = 300

/** The most entities whose relations are read. */
const mostExpanded = 60

const relationsRead = 200

interface NodeView {
  readonly iri: string
  readonly label?: string
  /** Steps from the central entity. */
  readonly depth: number
  /** Relations of the node that are not shown. */
  readonly hidden: number
}

interface EdgeView {
  readonly from: string
  readonly to: string
  readonly property: string
  readonly confidence: number
  readonly witnesses: number
}

export interface NeighbourhoodQuery extends QueryOptions {
  readonly depth?: number
  readonly limit?: number
}

/** The entities around an entity, breadth first: at most `limit` nodes, each with the number of its relations that are not shown. */
export const neighbourhood = Effect.fn("graphExplore.neighbourhood")(function* (
  version: GraphVersion,
  entity: string,
  { depth = 1, limit = 100, ...options }: NeighbourhoodQuery,
) {
  const facts = yield* GraphFacts
  const most = Math.max(1, Math.min(limit, mostNodes))
  const nodes = new Map<string, { label: string | undefined; readonly depth: number; relations: number | undefined }>()
  const edges = new Map<string, EdgeView>()
  nodes.set(entity, { label: undefined, depth: 0, relations: undefined })
  let expanded = 0
  // The loop also visits nodes that are added while it runs.
  for (const [iri, node] of nodes) {
    if (node.depth >= Math.max(1, depth) || expanded++ >= mostExpanded) break
    const { items, next } = yield* facts.relations(version, { ...options, entity: iri, limit: relationsRead })
    const between = items.flatMap(edgeOf)
    node.relations = between.length + (next === undefined ? 0 : 1)
    for (const { edge, ends } of between) {
      for (const end of ends) {
        const known = nodes.get(end.iri)
        if (known !== undefined) known.label ??= end.label
        else if (nodes.size < most) nodes.set(end.iri, { label: end.label, depth: node.depth + 1, relations: undefined })
      }
      if (nodes.has(edge.from) && nodes.has(edge.to)) edges.set(`${edge.from} ${edge.property} ${edge.to}`, edge)
    }
  }
  const shown = new Map<string, number>()
  for (const { from, to } of edges.values()) for (const end of new Set([from, to])) shown.set(end, (shown.get(end) ?? 0) + 1)
  const views = [...nodes].map(
    ([iri, { label, depth: steps, relations }]): NodeView => ({
      iri,
      ...optional({ label }),
      depth: steps,
      hidden: relations === undefined ? 0 : Math.max(0, relations - (shown.get(iri) ?? 0)),
    }),
  )
  return { entity, nodes: views, edges: [...edges.values()] }
})

/** A relation between two entities. Values are not nodes. */
const edgeOf = ({ subject, property, object, confidence, witnesses }: GraphRelation) =>
  object._tag === "Value"
    ? []
    : [{ edge: { from: subject.iri, to: object.iri, property, confidence, witnesses }, ends: [subject, object] as const }]

export interface FactQuery extends QueryOptions {
  readonly subject: string
  readonly property?: string | undefined
  /** An IRI, or the text of a value. */
  readonly object?: string | undefined
  readonly limit?: number
  readonly after?: string
}

/** The most pages of facts that one request reads. */
const mostPages = 20

/** The places in documents that state facts of a subject, filtered by property and object. */
export const facts = Effect.fn("graphExplore.facts")(function* (
  version: GraphVersion,
  { subject, property, object, limit = 100, after, ...options }: FactQuery,
) {
  const service = yield* GraphFacts
  const found: Array<ReturnType<typeof provenanceOf>> = []
  let from = after
  for (let page = 0; page < mostPages; page++) {
    const { items, next } = yield* service.factsOf(version, subject, { ...options, limit, ...optional({ after: from }) })
    const views = items.map((fact) => provenanceOf(fact, undefined))
    found.push(...views.filter((one) => (property ?? one.property) === one.property && (object ?? one.object) === one.object))
    from = next
    if (from === undefined || found.length >= limit) break
  }
  return paged({ facts: found }, from)
})

/** Characters of context on each side of the requested range. */
const around = 2000

const longestText = 50_000

/** Larger sources are not compared with the extracted content. */
const largestSource = 50_000_000

/**
 * A part of the text from which the facts of a document were extracted. `matchesRun`: whether the source still has the extracted
 * content; absent where that is unknown.
 */
export const documentText = Effect.fn("graphExplore.documentText")(function* (
  version: GraphVersion,
  documentId: DocumentId,
  { start = 0, end }: { readonly start?: number; readonly end?: number },
) {
  const documents = yield* Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.documents(version))
  const document = documents.get(documentId)
  const missing = new DocumentNotFound({ namespace: version.namespace, documentId })
  if (document?.runId === undefined) return yield* missing
  const text = yield* Effect.flatMap(Extractions, (extractions) => extractions.text(document.runId as never)).pipe(
    Effect.catchTag(["ArtifactMissing", "BlobNotFound", "ArtifactDamaged"], () => Effect.fail(missing)),
  )
  const from = Math.max(0, Math.min(start, text.length) - around)
  const through = Math.min(text.length, from + longestText, (end ?? start + around) + around)
  const matchesRun = yield* isUnchanged(document)
  return {
    documentId,
    text: text.slice(from, Math.max(from, through)),
    from,
    length: text.length,
    ...optional({ source: document.source, title: document.title, run: document.runId, matchesRun }),
  }
})

const isUnchanged = ({
  source,
  contentHash,
}: {
  readonly source?: Parameters<(typeof Storage)["Service"]["get"]>[0]
  readonly contentHash?: string
}) =>
  Effect.gen(function* () {
    if (source === undefined || contentHash === undefined) return undefined
    const storage = yield* Storage
    const info = yield* storage.info(source)
    if (Option.isNone(info)) return false
    if (info.value.size > largestSource) return undefined
    return contentHashOf((yield* storage.get(source)).bytes) === contentHash
    // A source that cannot be read, or that this process may not read, cannot be compared.
  }).pipe(Effect.catch((error) => Effect.as(Effect.logDebug(`the source of a document cannot be compared: ${explain(error)}`), undefined)))

const Counted = Schema.fromJsonString(
  Schema.Struct({
    results: Schema.Struct({
      bindings: Schema.Array(
        Schema.Struct({ name: Schema.Struct({ value: Schema.String }), count: Schema.Struct({ value: Schema.NumberFromString }) }),
      ),
    }),
  }),
)

/** The values of `?name` in a pattern, most frequent first. */
const namesIn = Effect.fnUntraced(function* (version: GraphVersion, pattern: string, options: QueryOptions) {
  const select = `SELECT ?name (COUNT(*) AS ?count) WHERE { ${pattern} } GROUP BY ?name ORDER BY DESC(?count) LIMIT 500`
  const { body } = yield* Effect.flatMap(GraphQuery, (queries) => queries.query(version, select, options))
  const { results } = yield* Effect.orDie(Schema.decodeEffect(Counted)(body))
  return results.bindings.map(({ name, count }) => ({ iri: name.value, count: count.value }))
})

/** The classes and properties that a graph uses, most frequent first, for the completion of queries. */
export const vocabulary = (version: GraphVersion, options: QueryOptions) =>
  Effect.all({ classes: namesIn(version, "?s a ?name", options), properties: namesIn(version, "?s ?name ?o", options) })

const rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

/** The properties of the facts, most frequent first: without those that describe documents and the places of facts. */
export const factProperties = (version: GraphVersion, options: QueryOptions) => namesIn(version, `?s <${rdf}predicate> ?name`, options)

/** The classes of the entities, most frequent first: without those of documents and of the places of facts. */
export const entityClasses = (version: GraphVersion, options: QueryOptions) =>
  namesIn(version, "?s a ?name ; <http://www.w3.org/2000/01/rdf-schema#label> ?label", options)
