/**
 * Queries of a graph for users: its entities by name or class, the relations between them, and the facts of an entity with the
 * words that state each. Results come in pages with a stateless cursor: `next` of one page is `after` of the following one.
 *
 * ```ts
 * const facts = yield* GraphFacts
 * const { items, next } = yield* facts.entities(version, { search: "harbour", limit: 20 })
 * ```
 */

import { contentHashOf } from "@detent/blobs/ContentHash"
import { Storage, type StorageService, StorageUri } from "@detent/blobs/Storage"
import { explain } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { largestWhole, readPlaces } from "../document/DocumentReader.ts"
import type { Place, Span } from "../fact/Fact.ts"
import { documentOfIri } from "../fact/FactGraph.ts"
import { checkIri } from "../rdf/Term.ts"
import { vocabularies, xsd } from "../rdf/Vocabulary.ts"
import { WorkerPool, type WorkerPoolService } from "../threads/WorkerPool.ts"
import type { GraphVersion } from "./CanonicalGraph.ts"
import { GraphQuery, type QueryError, type QueryOptions, QueryRefused } from "./GraphQuery.ts"

export const GraphEntity = Schema.Struct({
  iri: Schema.String,
  label: Schema.String,
  /** Other names of the entity in the documents. */
  otherLabels: Schema.Array(Schema.String),
  types: Schema.Array(Schema.String),
})
export type GraphEntity = typeof GraphEntity.Type

/** The object of a fact: another entity, or a value. */
export const GraphObject = Schema.Union([
  Schema.TaggedStruct("Entity", { iri: Schema.String, label: Schema.optionalKey(Schema.String) }),
  Schema.TaggedStruct("Value", { text: Schema.String, datatype: Schema.String }),
])
export type GraphObject = typeof GraphObject.Type

const stated = {
  subject: Schema.Struct({ iri: Schema.String, label: Schema.optionalKey(Schema.String) }),
  property: Schema.String,
  object: GraphObject,
}

export const GraphRelation = Schema.Struct({
  ...stated,
  /** The highest confidence among its statements. */
  confidence: Schema.Finite,
  /** Number of statements of the relation. */
  witnesses: Schema.Int,
})
export type GraphRelation = typeof GraphRelation.Type

/** One place in one document that states a fact. */
export const SourcedFact = Schema.Struct({
  ...stated,
  confidence: Schema.Finite,
  documentId: Schema.String,
  /** The address, title and version of the document; absent in graphs of earlier releases. */
  source: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  contentHash: Schema.optionalKey(Schema.String),
  /** The words and their span in the text of the document; `end` is exclusive. */
  quote: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
  extractor: Schema.String,
  runId: Schema.String,
  /** For a fact that was on the review list: the reviewer who accepted it, and when. */
  acceptedBy: Schema.optionalKey(Schema.String),
  acceptedAt: Schema.optionalKey(Schema.String),
})
export type SourcedFact = typeof SourcedFact.Type

export interface Page<Item> {
  readonly items: ReadonlyArray<Item>
  /** Where the next page begins; absent on the last one. */
  readonly next?: string
}

export interface PageOptions extends QueryOptions {
  readonly after?: string
  /** At most 1000. Default: 100. */
  readonly limit?: number
}

export interface EntityOptions extends PageOptions {
  /** A part of one of the entity's names; case-insensitive. */
  readonly search?: string
  readonly type?: string
}

export interface RelationOptions extends PageOptions {
  /** Only relations from or to this entity. */
  readonly entity?: string
  readonly property?: string
}

export interface FactsWithOptions extends QueryOptions {
  /** At most 1000. Default: 100. */
  readonly limit?: number
}

export interface GraphFactsService {
  readonly entities: (version: GraphVersion, options?: EntityOptions) => Effect.Effect<Page<GraphEntity>, QueryError>
  readonly relations: (version: GraphVersion, options?: RelationOptions) => Effect.Effect<Page<GraphRelation>, QueryError>
  /** Every place that states a fact of the entity, by document. */
  readonly factsOf: (version: GraphVersion, entity: string, options?: PageOptions) => Effect.Effect<Page<SourcedFact>, QueryError>
  /**
   * Facts that are stated with some of the words, or whose entities or property are named with them, those with the most words first. Words
   * are lower-case, and parts of words count.
   */
  readonly factsWith: (
    version: GraphVersion,
    words: ReadonlyArray<string>,
    options?: FactsWithOptions,
  ) => Effect.Effect<ReadonlyArray<SourcedFact>, QueryError>
  /**
   * The places of facts in the source files of their documents: a cell of a table, a value in JSON, a page, or characters. A fact
   * has no places if its document is gone, has changed since or cannot be read. At most twenty documents are read.
   */
  readonly placesOf: (facts: ReadonlyArray<SourcedFact>) => Effect.Effect<ReadonlyMap<SourcedFact, ReadonlyArray<Place>>>
}

export class GraphFacts extends Context.Service<GraphFacts, GraphFactsService>()("@detent/knowledge/GraphFacts") {
  static readonly layer: Layer.Layer<GraphFacts, never, GraphQuery> = Layer.effect(
    GraphFacts,
    Effect.suspend(() => make),
  )
}

const make: Effect.Effect<GraphFactsService, never, GraphQuery> = Effect.gen(function* () {
  const queries = yield* GraphQuery
  const storage = yield* Effect.serviceOption(Storage)
  const pool = yield* WorkerPool.inContext
  /** Requests one row more than the page, to see whether there is another page. */
  const paged = <Item>(version: GraphVersion, select: (limit: number) => string, itemOf: (row: Row) => Item, options: PageOptions) =>
    Effect.gen(function* () {
      if (options.after !== undefined && !isFactCursor(options.after))
        return yield* new QueryRefused({ problem: "the cursor of the page is malformed; copy it from the previous page" })
      const limit = Math.max(1, Math.min(options.limit ?? 100, 1000))
      const { body } = yield* queries.query(version, select(limit + 1), { ...options, isFixed: true })
      const { results } = yield* Effect.orDie(Schema.decodeEffect(Answer)(body))
      const rows = results.bindings.slice(0, limit)
      const last = results.bindings.length > limit ? rows.at(-1)?.["key"]?.value : undefined
      const page: Page<Item> = { items: rows.map(itemOf), ...(last === undefined ? {} : { next: last }) }
      return page
    })

  const service: GraphFactsService = {
    entities: (version, options = {}) =>
      Effect.gen(function* () {
        const type = yield* iriOf(options.type)
        return yield* paged(version, (limit) => entitiesQuery(options, type, limit), entityOf, options)
      }),
    relations: (version, options = {}) =>
      Effect.gen(function* () {
        const [entity, property] = [yield* iriOf(options.entity), yield* iriOf(options.property)]
        return yield* paged(version, (limit) => relationsQuery(options, entity, property, limit), relationOf, options)
      }),
    factsOf: (version, entity, options = {}) =>
      Effect.gen(function* () {
        const subject = yield* iriOf(entity)
        return yield* paged(version, (limit) => factsQuery(options, subject ?? "", limit), factOf, options)
      }),
    factsWith: (version, words, options = {}) =>
      words.length === 0
        ? Effect.succeed([])
        : Effect.map(
            paged(version, (limit) => factsWithQuery(words, limit), factOf, options),
            ({ items }) => items,
          ),
    placesOf: (facts) => (Option.isNone(storage) ? Effect.succeed(new Map()) : placesOfFacts(storage.value, pool, facts)),
  }
  return service
})

/** The IRI as a SPARQL term. Fails for text that is not an IRI, which could inject SPARQL into the query. */
const iriOf = (iri: string | undefined): Effect.Effect<string | undefined, QueryRefused> => {
  if (iri === undefined) return Effect.undefined
  const invalid = checkIri(iri)
  return invalid === undefined ? Effect.succeed(`<${iri}>`) : Effect.fail(new QueryRefused({ problem: invalid.message }))
}

const Term = Schema.Struct({ type: Schema.String, value: Schema.String, datatype: Schema.optionalKey(Schema.String) })
type Row = Readonly<Record<string, typeof Term.Type | undefined>>

const Answer = Schema.fromJsonString(
  Schema.Struct({ results: Schema.Struct({ bindings: Schema.Array(Schema.Record(Schema.String, Term)) }) }),
)

const valueOf = (row: Row, name: string): string => row[name]?.value ?? ""

const entityOf = (row: Row): GraphEntity => {
  const [label = "", ...otherLabels] = valueOf(row, "labels").split(namesApart).sort()
  return { iri: valueOf(row, "key"), label, otherLabels, types: valueOf(row, "types").split(" ").sort() }
}

const labelled = (row: Row, name: "subject" | "object") => {
  const label = row[`${name}Label`]?.value
  return { iri: valueOf(row, name), ...(label === undefined ? {} : { label }) }
}

const statedOf = (row: Row) => {
  const object = row["object"]
  return {
    subject: labelled(row, "subject"),
    property: valueOf(row, "property"),
    object:
      object?.type === "literal"
        ? { _tag: "Value" as const, text: object.value, datatype: object.datatype ?? xsd.string }
        : { _tag: "Entity" as const, ...labelled(row, "object") },
    confidence: Number(valueOf(row, "confidence")),
  }
}

const relationOf = (row: Row): GraphRelation => ({ ...statedOf(row), witnesses: Number(valueOf(row, "witnesses")) })

/** The field `name` with the value of a column; nothing where the row has no such column. */
const present = (row: Row, column: string, name: string) => {
  const found = row[column]?.value
  return found === undefined ? {} : { [name]: found }
}

const factOf = (row: Row): SourcedFact => ({
  ...statedOf(row),
  documentId: documentOfIri(valueOf(row, "document")),
  ...present(row, "address", "source"),
  ...present(row, "title", "title"),
  ...present(row, "contentHash", "contentHash"),
  quote: valueOf(row, "quote"),
  start: Number(valueOf(row, "start")),
  end: Number(valueOf(row, "end")),
  extractor: valueOf(row, "extractor"),
  runId: valueOf(row, "run"),
  ...present(row, "acceptedBy", "acceptedBy"),
  ...present(row, "acceptedAt", "acceptedAt"),
})

// The SPARQL queries of `GraphFacts`. Each first selects the keys of a page and then reads the details of these keys only.

const { dcterms, detent, prov, rdf, rdfs } = vocabularies

const prefixes = `PREFIX rdf: <${rdf}>
PREFIX rdfs: <${rdfs}>
PREFIX prov: <${prov}>
PREFIX dcterms: <${dcterms}>
PREFIX detent: <${detent}>`

/** Separates names in one text. No name contains it, since names have single spaces as their only whitespace. */
const namesApart = "\n"

interface Keyed {
  readonly after?: string
}

/** `type` is a SPARQL term. */
const entitiesQuery = ({ search, after }: Keyed & { readonly search?: string }, type: string | undefined, limit: number) => `${prefixes}
SELECT ?key (GROUP_CONCAT(DISTINCT ?name; separator=${textOf(namesApart)}) AS ?labels) (GROUP_CONCAT(DISTINCT ?kind; separator=" ") AS ?types) WHERE {
  { SELECT DISTINCT ?entity ?key WHERE {
    ?entity rdfs:label ?match ; a ?any . FILTER(?any != rdf:Statement)
    ${type === undefined ? "" : `?entity a ${type} .`}
    ${search === undefined ? "" : `FILTER(CONTAINS(LCASE(?match), LCASE(${textOf(search)})))`}
    BIND(STR(?entity) AS ?key) ${following(after)}
  } ORDER BY ?key LIMIT ${limit} }
  ?entity rdfs:label ?label ; a ?class .
  BIND(STR(?label) AS ?name) BIND(STR(?class) AS ?kind)
} GROUP BY ?key ORDER BY ?key`

/** An IRI and a literal with the same text are two objects, so the key includes the kind of the object. */
const relationKey = `CONCAT(STR(?subject), " ", STR(?property), " ", STR(?object), " ",
  IF(ISIRI(?object), "", CONCAT(STR(DATATYPE(?object)), "@", LANG(?object))))`

/** `entity` and `property` are SPARQL terms. */
const relationsQuery = ({ after }: Keyed, entity: string | undefined, property: string | undefined, limit: number) => `${prefixes}
SELECT ?key ?subject ?property ?object ?confidence ?witnesses ${leastLabels} WHERE {
  { SELECT ?key ?subject ?property ?object (MAX(?sure) AS ?confidence) (COUNT(DISTINCT ?fact) AS ?witnesses) WHERE {
    ${entity === undefined ? "" : `VALUES ?entity { ${entity} } { ?fact rdf:subject ?entity } UNION { ?fact rdf:object ?entity }`}
    ?fact a rdf:Statement ; rdf:subject ?subject ; rdf:predicate ?property ; rdf:object ?object ; detent:confidence ?sure .
    ${property === undefined ? "" : `FILTER(?property = ${property})`}
    BIND(${relationKey} AS ?key) ${following(after)}
  } GROUP BY ?key ?subject ?property ?object ORDER BY ?key LIMIT ${limit} }
  ${labels}
} GROUP BY ?key ?subject ?property ?object ?confidence ?witnesses ORDER BY ?key`

/**
 * A statement's IRI starts with its document, so the facts of one document are adjacent. If two batches have read a document, its
 * statements have two runs each; the query returns the first.
 */
const factsQuery = ({ after }: Keyed, entity: string, limit: number) =>
  detailsOf(`SELECT DISTINCT ?key ?fact ?subject ?property ?object WHERE {
    VALUES ?subject { ${entity} }
    ?fact rdf:subject ?subject ; a rdf:Statement ; rdf:predicate ?property ; rdf:object ?object .
    BIND(STR(?fact) AS ?key) ${following(after)}
  } ORDER BY ?key LIMIT ${limit}`)

/** Each word counts once for a fact. */
const factsWithQuery = (words: ReadonlyArray<string>, limit: number) =>
  detailsOf(`SELECT ?key ?fact ?subject ?property ?object WHERE {
    ?fact a rdf:Statement ; rdf:subject ?subject ; rdf:predicate ?property ; rdf:object ?object ; detent:quote ?words .
    OPTIONAL { ?subject rdfs:label ?from } OPTIONAL { ?object rdfs:label ?towards }
    BIND(LCASE(CONCAT(?words, " ", COALESCE(STR(?from), ""), " ", COALESCE(STR(?towards), STR(?object)), " ", STR(?property))) AS ?text)
    BIND(${words.map((word) => `IF(CONTAINS(?text, ${textOf(word)}), 1, 0)`).join(" + ")} AS ?points)
    FILTER(?points > 0) BIND(STR(?fact) AS ?key)
  } GROUP BY ?key ?fact ?subject ?property ?object ORDER BY DESC(MAX(?points)) ?key LIMIT ${limit}`)

/** The details of the facts that an inner query selects. */
const detailsOf = (selection: string) => `${prefixes}
SELECT ?key ?subject ?property ?object (MIN(?said) AS ?quote) (MIN(?from) AS ?start) (MIN(?to) AS ?end) (MAX(?sure) AS ?confidence)
  (MIN(STR(?source)) AS ?document) (MIN(STR(?at)) AS ?address) (MIN(?called) AS ?title) (MIN(?hash) AS ?contentHash) (MIN(?by) AS ?extractor) (MIN(?in) AS ?run)
  (MIN(?who) AS ?acceptedBy) (MIN(STR(?when)) AS ?acceptedAt) ${leastLabels} WHERE {
  { ${selection} }
  ?fact prov:wasDerivedFrom ?source ; detent:quote ?said ; detent:start ?from ; detent:end ?to ;
    detent:confidence ?sure ; detent:extractor ?by ; detent:run ?in .
  OPTIONAL { ?fact detent:acceptedBy ?who ; detent:acceptedAt ?when }
  OPTIONAL { ?source dcterms:source ?at } OPTIONAL { ?source dcterms:title ?called } OPTIONAL { ?source detent:contentHash ?hash }
  ${labels}
} GROUP BY ?key ?subject ?property ?object ORDER BY ?key`

/** Picks the same label each time where there are several. */
const leastLabels = "(MIN(STR(?subjectName)) AS ?subjectLabel) (MIN(STR(?objectName)) AS ?objectLabel)"

const labels = `OPTIONAL { ?subject rdfs:label ?subjectName } OPTIONAL { ?object rdfs:label ?objectName }`

/** Whether a text may be the cursor of a page: each begins with an IRI. */
export const isFactCursor = (text: string): boolean => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)

const following = (after: string | undefined) => (after === undefined ? "" : `FILTER(?key > ${textOf(after)})`)

/** A SPARQL string literal: JSON escapes the same characters in the same way. */
const textOf = (text: string): string => JSON.stringify(text.toWellFormed())

// The places of facts in the source files of their documents: a cell of a table, a value in JSON, a page, or characters. A graph stores
// spans in the text extracted from a document; this code reads the document again and maps the spans back to its source file.

/** The span of a fact, and the version of the document that it refers to. */
interface SourcedSpan extends Span {
  readonly source?: string
  readonly contentHash?: string
}

/** Each document is read whole, so their number is bounded. */
const mostDocuments = 20

/**
 * The places of each fact, in order. A fact is absent if its document is gone, has changed since or cannot be read, or is not among
 * the first twenty.
 */
const placesOfFacts = <Fact extends SourcedSpan>(
  storage: StorageService,
  pool: Option.Option<WorkerPoolService>,
  facts: ReadonlyArray<Fact>,
): Effect.Effect<ReadonlyMap<Fact, ReadonlyArray<Place>>> =>
  Effect.gen(function* () {
    const found = new Map<Fact, ReadonlyArray<Place>>()
    const documents = [...Map.groupBy(facts, ({ source, contentHash }) => `${contentHash} ${source}`).values()]
    for (const spans of documents.slice(0, mostDocuments)) {
      const places = yield* placesIn(storage, pool, spans)
      for (const [index, place] of (places ?? []).entries()) {
        const fact = spans[index]
        if (fact !== undefined) found.set(fact, place)
      }
    }
    return found
  })

const isStorageUri = Schema.is(StorageUri)

const placesIn = (storage: StorageService, pool: Option.Option<WorkerPoolService>, facts: ReadonlyArray<SourcedSpan>) =>
  Effect.gen(function* () {
    const { source, contentHash } = facts[0] ?? {}
    if (!isStorageUri(source)) return undefined
    const info = yield* storage.info(source)
    if (Option.isNone(info) || info.value.size > largestWhole) return undefined
    const { bytes } = yield* storage.get(source)
    if (contentHashOf(bytes) !== contentHash) return undefined
    const spans = facts.map(({ start, end }) => ({ start, end }))
    return yield* readPlaces(pool, { source: { name: source }, bytes, spans })
  }).pipe(
    // If a document cannot be read, its facts are shown without places.
    Effect.catch((error) => Effect.as(Effect.logDebug(`cannot find the places of facts in their document: ${explain(error)}`), undefined)),
  )
