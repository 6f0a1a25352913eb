/** Queries of the knowledge graph. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { folderIn, Storage } from "@detent/blobs/Storage"
import { folderAt } from "@detent/blobs/StorageLocation"
import {
  type BatchId,
  CanonicalGraph,
  factReport,
  GraphFacts,
  type GraphObject,
  GraphQuery,
  type GraphQueryService,
  type GraphRelation,
  Namespace,
  type Place,
  reportedText,
  type SourcedFact,
} from "@detent/knowledge"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CurrentWorkspace } from "../CurrentWorkspace.ts"
import { GraphNotFound } from "../errors.ts"
import { explained } from "../graph/QueryProblem.ts"
import { reportPage } from "../graph/ReportPage.ts"
import { optional, paged } from "../optional.ts"
import * as batches from "./batches.ts"

type GraphVersion = Parameters<GraphQueryService["query"]>[0]

/** The graphs of the workspace, by name. */
export const namespaces = Effect.flatMap(CurrentWorkspace, ({ data }) =>
  isBucketLocation(data) ? namespacesInBucket(data) : Effect.sync(() => namespacesInFolder(data)),
)

const namespacesInFolder = (data: string): ReadonlyArray<Namespace> => {
  const folder = join(data, "canonical")
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter(Schema.is(Namespace))
    .filter((name) => existsSync(join(folder, name, "current.json")))
    .sort()
}

const namespacesInBucket = Effect.fnUntraced(function* (data: string) {
  const folder = folderIn(folderAt(data), "canonical")
  const names = Stream.map((yield* Storage).list(folder), ({ uri }) => /^([^/]+)\/current\.json$/.exec(uri.slice(folder.length))?.[1])
  return (yield* Stream.runCollect(names)).filter(Schema.is(Namespace))
})

/** The current version of a graph. */
export const current = (namespace: Namespace) =>
  Effect.flatMap(
    Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.current(namespace)),
    Option.match({ onNone: () => Effect.fail(new GraphNotFound({ namespace })), onSome: Effect.succeed }),
  )

/** How many triples a version has: the number of lines of its export. */
export const countTriples = (version: GraphVersion) => Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.countTriples(version))

/** The version of a graph, its size, and the batches that added to it. */
export const describe = (version: GraphVersion) =>
  Effect.map(countTriples(version), (triples) => ({
    namespace: version.namespace,
    version: version.version,
    ...optional({ previous: Option.getOrUndefined(version.previous) }),
    triples,
    contributions: contributions(version),
  }))

/** All graphs of the workspace, by name. */
export const list = Effect.map(
  Effect.flatMap(namespaces, (names) => Effect.forEach(names, (name) => Effect.flatMap(current(name), describe))),
  (graphs) => ({ graphs }),
)

/** The result of a SPARQL query. A refusal explains briefly what to correct. */
export const query = (version: GraphVersion, sparql: string, options?: Parameters<GraphQueryService["query"]>[2]) =>
  Effect.flatMap(GraphQuery, (graph) => graph.query(version, sparql, options)).pipe(
    Effect.catchTag("QueryRefused", (refused) => Effect.fail(explained(sparql, refused))),
  )

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

export const provenanceOf = ({ subject: _, object, runId, ...said }: SourcedFact, places: ReadonlyArray<Place> | undefined) => ({
  ...said,
  ...objectOf(object),
  run: runId,
  ...optional({ places }),
})

type Facts = (typeof GraphFacts)["Service"]

/** A page of entities, filtered by words and type. */
export const entities = (version: GraphVersion, asked: Parameters<Facts["entities"]>[1]) =>
  Effect.map(
    Effect.flatMap(GraphFacts, (facts) => facts.entities(version, asked)),
    ({ items, next }) => paged({ entities: items }, next),
  )

/** A page of facts from or about an entity, or of all facts; a fact of several documents is listed once. */
export const relations = (version: GraphVersion, asked: Parameters<Facts["relations"]>[1]) =>
  Effect.map(
    Effect.flatMap(GraphFacts, (facts) => facts.relations(version, asked)),
    ({ items, next }) => paged({ relations: items.map(relationOf) }, next),
  )

type ProvenanceQuery = NonNullable<Parameters<Facts["factsOf"]>[2]> & {
  /** Whether to read the documents to locate the quoted words: a cell of a table, a value in JSON, a page, or a range of characters. */
  readonly places?: boolean
}

/** A page of the facts of an entity, each with its document and the words that state it. */
export const provenance = Effect.fn("graph.provenance")(function* (
  version: GraphVersion,
  entity: string,
  { places = false, ...asked }: ProvenanceQuery = {},
) {
  const facts = yield* GraphFacts
  const { items, next } = yield* facts.factsOf(version, entity, asked)
  const found = places ? yield* facts.placesOf(items) : new Map<SourcedFact, ReadonlyArray<Place>>()
  return paged({ facts: items.map((fact) => provenanceOf(fact, found.get(fact))) }, next)
})

export interface ReportQuery {
  /** Only documents that the graph shows as this batch extracted them. */
  readonly batch?: BatchId | undefined
  /** The most documents in the report. */
  readonly limit: number
}

/**
 * A report for readers: one HTML file that marks the facts in the text of each document, as a stream of pieces. The text of a document
 * is read when the stream reaches it.
 */
export const report = Effect.fn("graph.report")(function* (version: GraphVersion, { batch, limit }: ReportQuery) {
  // The validation report of the batch that extracted them has the quarantined facts.
  const ids = batch === undefined ? version.contributions.map(({ batchId }) => batchId) : [batch]
  if (batch !== undefined) yield* batches.status(batch)
  const reports = yield* Effect.forEach(ids, batches.validationReport)
  const quarantined = reports.flatMap((one) => one?.statements ?? [])
  const found = yield* factReport(version, { limit, quarantined, ...optional({ batch }) })
  const page = reportPage(found, yield* Clock.currentTimeMillis)
  const documents = Stream.mapEffect(Stream.fromIterable(found.documents.entries()), ([at, document]) =>
    Effect.map(reportedText(document), (text) => page.document(document, at, text)),
  )
  const pieces = Stream.make(page.head).pipe(Stream.concat(documents), Stream.concat(Stream.make(page.tail)))
  return { contentPolicy: page.contentPolicy, documents: found.documents.length, documentsTotal: found.documentsTotal, pieces }
})

/** The batches that added to a version of a graph. */
export const contributions = ({ contributions: added }: GraphVersion) =>
  added.map(({ batchId, triples, shown, ingestedAt }) => ({
    batchId,
    /** The triples that the graph still has: a later batch may have replaced others. */
    triples: shown?.triples ?? triples,
    ingestedAt: ingestedAt.epochMilliseconds,
  }))
