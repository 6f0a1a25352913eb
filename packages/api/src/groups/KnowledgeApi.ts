/** The graph of a namespace: its entities, the relations between them, their sources, and SPARQL. */

import { ContentHash } from "@detent/blobs/ContentHash"
import {
  AnswerClause,
  BatchId,
  contentTypes,
  DocumentId,
  ExportFormat,
  GraphDiff,
  IdentityDecision,
  IdentityKind,
  Namespace,
  Place,
} from "@detent/knowledge/schemas"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import { accessOf } from "../contract/Access.ts"
import { answersWith, sparqlResults, text } from "../contract/Answers.ts"
import { Count, Limit, Millis, Opaque, pageOf, paging } from "../contract/Paging.ts"
import { problems } from "../contract/Problem.ts"
import { queryParameter, takes } from "../contract/QueryParameter.ts"
import { ModelUsage } from "./BatchStatus.ts"

export const GraphInfo = Schema.Struct({
  namespace: Schema.String,
  version: Schema.String,
  previous: Schema.optionalKey(Schema.String),
  /** Its size. Batches may state the same triple, so it may be less than the sum of theirs. */
  triples: Schema.Int,
  contributions: Schema.Array(Schema.Struct({ batchId: Schema.String, triples: Schema.Int, ingestedAt: Schema.Int })),
}).annotate({ identifier: "Graph" })

export const Entity = Schema.Struct({
  iri: Schema.String,
  label: Schema.String,
  /** Other names of the entity in the documents. */
  otherLabels: Schema.Array(Schema.String),
  types: Schema.Array(Schema.String),
}).annotate({ identifier: "Entity" })

const object = {
  /** An IRI, or the text of a value. */
  object: Schema.String,
  objectLabel: Schema.optionalKey(Schema.String),
  /** The datatype of a value; an IRI has none. */
  datatype: Schema.optionalKey(Schema.String),
}

export const Relation = Schema.Struct({
  subject: Schema.String,
  subjectLabel: Schema.optionalKey(Schema.String),
  property: Schema.String,
  ...object,
  /** The highest confidence of its sources. */
  confidence: Schema.Finite,
  /** The number of its sources. */
  witnesses: Schema.Int,
}).annotate({ identifier: "Relation" })

/** A fact with the document and the words that state it. */
export const Provenance = Schema.Struct({
  property: Schema.String,
  ...object,
  documentId: Schema.String,
  /** The address and title of the document, and the hash of the version that states the fact. */
  source: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  contentHash: Schema.optionalKey(Schema.String),
  quote: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
  confidence: Schema.Finite,
  extractor: Schema.String,
  run: Schema.String,
  /** The reviewer who accepted a fact of the review list, and the time. */
  acceptedBy: Schema.optionalKey(Schema.String),
  acceptedAt: Schema.optionalKey(Schema.String),
  /** The places of the words in the source: a cell of a table, a value in JSON, a page, or a range of characters. */
  places: Schema.optionalKey(Schema.Array(Place)),
}).annotate({ identifier: "Provenance" })

/** A fact that bears on a question. */
const BearingFact = Schema.Struct({
  subject: Schema.String,
  subjectLabel: Schema.optionalKey(Schema.String),
  ...Provenance.fields,
}).annotate({ identifier: "BearingFact" })

/** What bears on a question, and what a model says of it. */
export const Answer = Schema.Struct({
  question: Schema.String,
  /** The nearest first. */
  facts: Schema.Array(BearingFact),
  /** Absent where no model was asked. */
  said: Schema.optionalKey(
    Schema.Struct({
      model: Schema.String,
      /** Each with the words that prove it. Empty: the documents do not answer the question. */
      clauses: Schema.Array(AnswerClause),
      /** The number of clauses that nothing proves. They are left out. */
      unproved: Schema.Int,
      usage: ModelUsage,
    }),
  ),
}).annotate({ identifier: "Answer" })

const Question = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(2000))

const mostFacts = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 }))

export const AskedQuestion = Schema.Struct({
  question: Question,
  /** The most facts. Default: 10. */
  limit: Schema.optionalKey(mostFacts),
}).annotate({ identifier: "AskedQuestion" })

const Iri = Schema.String.check(
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what no IRI has.
  Schema.isPattern(/^[a-zA-Z][a-zA-Z0-9+.-]*:[^\u0000-\u0020<>"{}|^`\\]*$/u, { expected: "an absolute IRI" }),
  Schema.isMaxLength(2000),
)

/** The longest query accepted. */
const Sparql = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100_000))

const QueryAnswer = HttpApiSchema.StreamUint8Array({ contentType: "application/sparql-results+json" })

const queryDescription =
  "SELECT and ASK are answered with SPARQL results in JSON, CONSTRUCT and DESCRIBE with N-Triples. Updates are refused."
const queryAnswers = answersWith({ "application/sparql-results+json": sparqlResults, "application/n-triples": text })

const exported = Object.fromEntries(Object.values(contentTypes).map((type) => [type, type.includes("json") ? {} : text]))

export const GraphVersionInfo = Schema.Struct({
  version: Schema.String,
  previous: Schema.optionalKey(Schema.String),
  /** How many batches contribute to the version. */
  batches: Schema.Int,
  triples: Schema.Int,
  /** When the latest batch was added. */
  at: Schema.optionalKey(Millis),
}).annotate({ identifier: "GraphVersion" })

export const VersionDiff = Schema.Struct({
  namespace: Schema.String,
  from: Schema.String,
  to: Schema.String,
  ...GraphDiff.fields,
}).annotate({
  identifier: "VersionDiff",
})

export const Neighbourhood = Schema.Struct({
  entity: Schema.String,
  nodes: Schema.Array(
    Schema.Struct({
      iri: Schema.String,
      label: Schema.optionalKey(Schema.String),
      /** Steps from the central entity. */
      depth: Schema.Int,
      /** Relations of the node that are not shown. */
      hidden: Schema.Int,
    }),
  ),
  edges: Schema.Array(
    Schema.Struct({
      from: Schema.String,
      to: Schema.String,
      property: Schema.String,
      confidence: Schema.Finite,
      witnesses: Schema.Int,
    }),
  ),
}).annotate({ identifier: "Neighbourhood" })

export const DocumentText = Schema.Struct({
  documentId: Schema.String,
  text: Schema.String,
  /** Where `text` begins in the whole text, and the length of the whole text, in UTF-16 code units. */
  from: Schema.Int,
  length: Schema.Int,
  source: Schema.optionalKey(Schema.String),
  title: Schema.optionalKey(Schema.String),
  run: Schema.optionalKey(Schema.String),
  /** Whether the source still has the extracted content; absent where that is unknown. */
  matchesRun: Schema.optionalKey(Schema.Boolean),
}).annotate({ identifier: "DocumentText" })

const counted = Schema.Array(Schema.Struct({ iri: Schema.String, count: Schema.Int }))

export const Vocabulary = Schema.Struct({ classes: counted, properties: counted }).annotate({ identifier: "Vocabulary" })

export const ofVersion = queryParameter("version", ContentHash, "A version of the graph. Default: the current one.")

/** A version of the graph. Default: the current one. */
const version = Schema.optionalKey(ContentHash)

const SmallNumber = Schema.NumberFromString.pipe(Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 300 }))))

const Actor = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

/** A decision on entities: `merge` and `different` name two, `split` names one. */
export const IdentityChange = Schema.Struct({
  kind: IdentityKind,
  /** With `merge`, the first one stays. */
  entities: Schema.Array(Iri).check(Schema.isMinLength(1), Schema.isMaxLength(2)),
  /** With `split`: the documents whose mentions become one entity of their own. Default: the mentions of each document do. */
  documents: Schema.optionalKey(Schema.Array(DocumentId).check(Schema.isMinLength(1), Schema.isMaxLength(1000))),
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  /** Who decides. Default: `operator`. */
  by: Schema.optionalKey(Actor),
}).annotate({ identifier: "IdentityChange" })
export type IdentityChange = typeof IdentityChange.Type

export const IdentityUndo = Schema.Struct({
  /** Who undoes it. Default: `operator`. */
  by: Schema.optionalKey(Actor),
}).annotate({ identifier: "IdentityUndo" })

/** A decision with its number, state, person, time and reason. */
export const Identity = IdentityDecision.annotate({ identifier: "IdentityDecision" })

const params = { namespace: Namespace }
const path = "/api/v1/knowledge/:namespace"
const error = problems

export class KnowledgeApi extends HttpApiGroup.make("knowledge")
  .add(
    HttpApiEndpoint.get("graphs", "/api/v1/knowledge", { success: Schema.Struct({ graphs: Schema.Array(GraphInfo) }), error }).annotate(
      OpenApi.Summary,
      "List graphs",
    ),
    HttpApiEndpoint.get("graph", path, { params, success: GraphInfo, error })
      .annotate(OpenApi.Summary, "Show a graph")
      .annotate(OpenApi.Transform, takes(ofVersion)),
    HttpApiEndpoint.get("versions", `${path}/versions`, {
      params,
      query: paging(ContentHash),
      success: pageOf({ versions: Schema.Array(GraphVersionInfo) }, Schema.String),
      error,
    })
      .annotate(OpenApi.Summary, "List the versions of a graph")
      .annotate(OpenApi.Description, "Newest first."),
    HttpApiEndpoint.get("diff", `${path}/diff`, {
      params,
      query: { from: ContentHash, to: Schema.optionalKey(ContentHash), limit: Limit },
      success: VersionDiff,
      error,
    })
      .annotate(OpenApi.Summary, "Compare two versions of a graph")
      .annotate(
        OpenApi.Description,
        "The facts that documents state in one version and not in the other, by document. Default for `to`: the current version.",
      ),
    HttpApiEndpoint.get("neighbourhood", `${path}/neighbourhood`, {
      params,
      query: { entity: Iri, depth: Schema.optionalKey(SmallNumber), limit: Schema.optionalKey(SmallNumber), version },
      success: Neighbourhood,
      error,
    })
      .annotate(OpenApi.Summary, "Show the entities around an entity")
      .annotate(OpenApi.Description, "At most 300 nodes, nearest first. `hidden` is the number of relations of a node that are not shown."),
    HttpApiEndpoint.get("facts", `${path}/facts`, {
      params,
      query: {
        subject: Iri,
        property: Schema.optionalKey(Iri),
        object: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2000))),
        version,
        ...paging(Opaque),
      },
      success: pageOf({ facts: Schema.Array(Provenance) }, Opaque),
      error,
    })
      .annotate(OpenApi.Summary, "Show which documents state a fact")
      .annotate(OpenApi.Description, "The places in documents that state facts of a subject, filtered by property and object."),
    HttpApiEndpoint.get("documentText", `${path}/documents/:documentId/text`, {
      params: { ...params, documentId: DocumentId },
      query: { start: Schema.optionalKey(Count), end: Schema.optionalKey(Count), version },
      success: DocumentText,
      error,
    })
      .annotate(OpenApi.Summary, "Read the text of a document")
      .annotate(OpenApi.Description, "The part of a document's extracted text around the given range."),
    HttpApiEndpoint.get("vocabulary", `${path}/vocabulary`, { params, query: { version }, success: Vocabulary, error })
      .annotate(OpenApi.Summary, "List the classes and properties of a graph")
      .annotate(OpenApi.Description, "Most frequent first, for the completion of queries."),
    HttpApiEndpoint.get("entities", `${path}/entities`, {
      params,
      query: {
        search: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
        type: Schema.optionalKey(Iri),
        version,
        ...paging(Iri),
      },
      success: pageOf({ entities: Schema.Array(Entity) }, Schema.String),
      error,
    }).annotate(OpenApi.Summary, "List entities"),
    HttpApiEndpoint.get("relations", `${path}/relations`, {
      params,
      query: { entity: Schema.optionalKey(Iri), property: Schema.optionalKey(Iri), version, ...paging(Opaque) },
      success: pageOf({ relations: Schema.Array(Relation) }, Opaque),
      error,
    })
      .annotate(OpenApi.Summary, "List relations")
      .annotate(
        OpenApi.Description,
        "Facts with an entity as subject or object, or all facts. A fact that several documents state is listed once.",
      ),
    HttpApiEndpoint.get("provenance", `${path}/provenance`, {
      params,
      query: { entity: Iri, places: Schema.optionalKey(Schema.Literal("true")), version, ...paging(Opaque) },
      success: pageOf({ facts: Schema.Array(Provenance) }, Opaque),
      error,
    })
      .annotate(OpenApi.Summary, "Show where facts are stated")
      .annotate(
        OpenApi.Description,
        "Every fact of an entity with its document, the words that state it, and their position in the extracted text. With `places=true` " +
          "also their place in the source: a cell of a table, a value in JSON, a page, or a range of characters. A document that has " +
          "changed since has no places; at most twenty documents of a page are read to find places.",
      ),
    HttpApiEndpoint.get("query", `${path}/sparql`, { params, query: { query: Sparql, version }, success: QueryAnswer, error })
      .annotate(OpenApi.Summary, "Query a graph with SPARQL")
      .annotate(OpenApi.Description, queryDescription)
      .annotate(OpenApi.Transform, queryAnswers),
    HttpApiEndpoint.post("queryBody", `${path}/sparql`, {
      params,
      payload: Sparql.pipe(HttpApiSchema.asText({ contentType: "application/sparql-query" })),
      success: QueryAnswer,
      error,
    })
      .annotateMerge(accessOf("reader"))
      .annotate(OpenApi.Summary, "Query a graph with SPARQL, with the query in the body")
      .annotate(OpenApi.Description, queryDescription)
      .annotate(OpenApi.Transform, (operation) => takes(ofVersion)(queryAnswers(operation))),
    HttpApiEndpoint.get("export", `${path}/export`, {
      params,
      query: { format: ExportFormat, factsOnly: Schema.optionalKey(Schema.Literal("true")), version },
      success: HttpApiSchema.StreamUint8Array(),
      error,
    })
      .annotate(OpenApi.Summary, "Export a graph")
      .annotate(
        OpenApi.Description,
        "The whole graph as a file. `entities` and `relations` are tables in CSV; `nquads` has a named graph for each document. With " +
          "`factsOnly=true` without where facts come from: no statements and no documents.",
      )
      .annotate(OpenApi.Transform, answersWith(exported)),
    HttpApiEndpoint.get("bearing", `${path}/answers`, {
      params,
      query: { question: Question, limit: Schema.optionalKey(SmallNumber), version },
      success: Answer,
      error,
    })
      .annotate(OpenApi.Summary, "List the facts that bear on a question")
      .annotate(OpenApi.Description, "Each fact with the words that state it, the nearest to the question first. No model is called."),
    HttpApiEndpoint.post("ask", `${path}/answers`, { params, payload: AskedQuestion, success: Answer, error })
      .annotate(OpenApi.Summary, "Ask a graph a question")
      .annotate(
        OpenApi.Description,
        "The facts that bear on the question. Where the server's extractor is a model, also its answer: each clause has words of a document " +
          "that prove it, and what nothing proves is left out.",
      ),
    HttpApiEndpoint.get("identities", `${path}/identities`, {
      params,
      query: paging(Count),
      success: pageOf({ decisions: Schema.Array(Identity) }, Schema.Int),
      error,
    })
      .annotate(OpenApi.Summary, "List the decisions on entities")
      .annotate(OpenApi.Description, "Newest first: which entities people have merged, split or kept apart."),
    HttpApiEndpoint.post("decideIdentity", `${path}/identities`, { params, payload: IdentityChange, success: Identity, error })
      .annotate(OpenApi.Summary, "Merge, split or keep apart entities")
      .annotate(
        OpenApi.Description,
        "Changes the graph, and holds for later batches. Refused where the graph would violate its shapes. A decision can be undone.",
      ),
    HttpApiEndpoint.post("undoIdentity", `${path}/identities/:decision/undo`, {
      params: { ...params, decision: Count },
      payload: IdentityUndo,
      success: Identity,
      error,
    })
      .annotate(OpenApi.Summary, "Undo a decision on entities")
      .annotate(OpenApi.Description, "The graph gets the entities back as they were. A decision that a later one builds on is refused."),
    HttpApiEndpoint.get("report", `${path}/graph/report`, {
      params,
      query: { batch: Schema.optionalKey(BatchId), limit: Limit, version },
      success: HttpApiSchema.StreamUint8Array({ contentType: "text/html; charset=utf-8" }),
      error,
    })
      .annotate(OpenApi.Summary, "Show documents with their facts marked in the text")
      .annotate(
        OpenApi.Description,
        "One self-contained HTML file: each document with its accepted facts, the facts for review, and the facts that validation quarantined.",
      ),
  )
  .annotate(OpenApi.Description, "The knowledge graph") {}
