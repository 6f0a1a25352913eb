/**
 * The content of a graph's report: each document with its text and the facts it states, each at its place in the text. A fact is
 * accepted, on the review list or quarantined by validation. Texts are read one at a time; the facts of the shown documents are held
 * in memory.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { documentOfIri } from "../fact/FactGraph.ts"
import { CanonicalGraph, type GraphError, type GraphVersion, type ShownDocument } from "../graph/CanonicalGraph.ts"
import { labelPredicate, nodesOfLines, statementType } from "../graph/GraphLines.ts"
import { nameOfNode, termOf } from "../rdf/Turtle.ts"
import { prov, rdf, vocabularies } from "../rdf/Vocabulary.ts"
import type { ReviewFact } from "../review/ReviewItem.ts"
import { type ListedFact, type ListPlace, ReviewStore } from "../review/ReviewStore.ts"
import { Extractions } from "../runs/Extractions.ts"
import type { ArtifactError } from "../runs/RunArtifacts.ts"
import type { RunStoreFailed } from "../runs/RunTables.ts"
import type { BatchId, RunId } from "../storage/Identity.ts"
import type { QuarantinedStatement } from "../validate/Report.ts"

export type FactStatus = "accepted" | "review" | "quarantined"

/** One fact at one place in a document. */
export interface ReportedFact {
  readonly status: FactStatus
  /** A label, or an IRI where there is none. */
  readonly subject: string
  /** IRIs of the subject's classes. */
  readonly types: ReadonlyArray<string>
  readonly property: string
  readonly object: string
  /** Present if the object is a value. */
  readonly datatype?: string
  readonly confidence?: number
  readonly extractor?: string
  readonly start: number
  readonly end: number
  readonly quote: string
  /** Why validation quarantined the fact. */
  readonly reason?: string
}

export interface ReportedDocument {
  readonly documentId: string
  readonly source?: string
  readonly title: string
  readonly language?: string
  /** Why the extractor skipped the document's prose. */
  readonly unread?: ShownDocument["unread"]
  readonly runId?: RunId
  /** In the order of the text. */
  readonly facts: ReadonlyArray<ReportedFact>
}

export interface FactReport {
  readonly namespace: string
  readonly version: string
  /** Number of documents of the graph or batch, shown or not. */
  readonly documentsTotal: number
  readonly documents: ReadonlyArray<ReportedDocument>
  /** Number of entities that the shown documents name. */
  readonly entities: number
}

export interface ReportOptions {
  /** Only documents whose shown extraction is by this batch. */
  readonly batch?: BatchId
  readonly limit: number
  /** The statements that validation quarantined in the batches concerned. */
  readonly quarantined: ReadonlyArray<QuarantinedStatement>
}

const predicate = {
  type: `<${rdf.type}>`,
  subject: `<${rdf.subject}>`,
  property: `<${rdf.predicate}>`,
  object: `<${rdf.object}>`,
  document: `<${prov.wasDerivedFrom}>`,
  quote: `<${vocabularies.detent}quote>`,
  start: `<${vocabularies.detent}start>`,
  end: `<${vocabularies.detent}end>`,
  confidence: `<${vocabularies.detent}confidence>`,
  extractor: `<${vocabularies.detent}extractor>`,
}

interface Entity {
  readonly label: string
  readonly types: ReadonlyArray<string>
}

/** A statement whose subject and object are still N-Triples terms without labels. */
interface Stated extends Omit<ReportedFact, "subject" | "types" | "object" | "datatype" | "status"> {
  readonly document: string
  readonly subject: string
  readonly object: string
}

export const factReport = (
  version: GraphVersion,
  { batch, limit, quarantined }: ReportOptions,
): Effect.Effect<FactReport, GraphError | RunStoreFailed, CanonicalGraph | ReviewStore> =>
  Effect.gen(function* () {
    const graph = yield* CanonicalGraph
    const all = [...(yield* graph.documents(version)).values()].filter((one) => batch === undefined || one.batchId === batch)
    const shown = all.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)).slice(0, limit)
    const { entities, statements } = yield* graphOf(graph.lines(version), new Set(shown.map(({ documentId }) => documentId)))
    const held = heldByDocument(quarantined, entities)
    const review = yield* openReviews(shown)
    const documents = shown.map((document): ReportedDocument => {
      const accepted = (statements.get(document.documentId) ?? []).map((one) => acceptedFact(one, entities))
      const facts = [...accepted, ...(review.get(document.documentId) ?? []), ...(held.get(document.documentId) ?? [])]
      return {
        documentId: document.documentId,
        title: nameOf(document),
        ...(document.source === undefined ? {} : { source: document.source }),
        ...(document.language === undefined ? {} : { language: document.language }),
        ...(document.unread === undefined ? {} : { unread: document.unread }),
        ...(document.runId === undefined ? {} : { runId: document.runId }),
        facts: facts.toSorted((one, other) => one.start - other.start || one.end - other.end),
      }
    })
    return { namespace: version.namespace, version: version.version, documentsTotal: all.length, documents, entities: entities.size }
  })

const nameOf = ({ title, source, documentId }: ShownDocument): string => title ?? source ?? documentId

const append = <A>(lists: Map<string, Array<A>>, key: string, item: A): void => {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}

/** The statements of the given documents, and the entities that these documents name. */
const graphOf = <E, R>(lines: Stream.Stream<string, E, R>, documents: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const entities = new Map<string, Entity>()
    const statements = new Map<string, Array<Stated>>()
    yield* Stream.runForEach(nodesOfLines(lines), ({ subject, values }) =>
      Effect.sync(() => {
        const types = values.get(predicate.type) ?? []
        const from = (values.get(predicate.document) ?? []).map((one) => documentOfIri(nameOfNode(one)))
        if (types.includes(statementType)) {
          const document = from.find((one) => documents.has(one))
          if (document === undefined) return
          append(statements, document, statedIn(document, values))
          return
        }
        const label = values.get(labelPredicate)?.[0]
        if (label !== undefined && (from.length === 0 || from.some((one) => documents.has(one))))
          entities.set(subject, { label: termOf(label).value, types: types.map(nameOfNode) })
      }),
    )
    return { entities, statements }
  })

const statedIn = (document: string, values: ReadonlyMap<string, ReadonlyArray<string>>): Stated => {
  const text = (name: string): string => {
    const [first] = values.get(name) ?? []
    return first === undefined ? "" : termOf(first).value
  }
  const [subject = "", object = ""] = [predicate.subject, predicate.object].map((name) => values.get(name)?.[0])
  return {
    document,
    subject,
    property: text(predicate.property),
    object,
    confidence: Number(text(predicate.confidence)),
    extractor: text(predicate.extractor),
    start: Number(text(predicate.start)),
    end: Number(text(predicate.end)),
    quote: text(predicate.quote),
  }
}

const objectOf = (object: string, entities: ReadonlyMap<string, Entity>): Pick<ReportedFact, "object" | "datatype"> => {
  const term = object === "" ? undefined : termOf(object)
  if (term?.termType === "Literal") return { object: term.value, datatype: term.datatype.value }
  return { object: entities.get(object)?.label ?? term?.value ?? "" }
}

const acceptedFact = ({ document: _, subject, object, ...fact }: Stated, entities: ReadonlyMap<string, Entity>): ReportedFact => ({
  ...fact,
  status: "accepted",
  subject: entities.get(subject)?.label ?? (subject === "" ? "" : nameOfNode(subject)),
  types: entities.get(subject)?.types ?? [],
  ...objectOf(object, entities),
})

const reviewFact = ({ fact: { subject, property, object, confidence, span, quote }, extractor }: ReviewFact): ReportedFact => ({
  status: "review",
  subject: subject.text,
  types: [subject.type],
  property,
  ...(object._tag === "Entity" ? { object: object.mention.text } : { object: object.lexical, datatype: object.datatype }),
  confidence,
  extractor,
  ...span,
  quote,
})

/** Facts per page when reading a review list. */
const pageSize = 500

/** The facts of the shown document versions that await a review decision, by document. */
const openReviews = (shown: ReadonlyArray<ShownDocument>) =>
  Effect.gen(function* () {
    const reviews = yield* ReviewStore
    const runs = new Set(shown.flatMap(({ runId }) => runId ?? []))
    const found = new Map<string, Array<ReportedFact>>()
    for (const batch of new Set(shown.map(({ batchId }) => batchId))) {
      for (let after: ListPlace | undefined, isMore = true; isMore; ) {
        const page: ReadonlyArray<ListedFact> = yield* reviews.list(batch, {
          status: "open",
          limit: pageSize,
          ...(after === undefined ? {} : { after }),
        })
        for (const { fact } of page) {
          if (runs.has(fact.runId)) append(found, fact.documentId, reviewFact(fact))
        }
        const last = page.at(-1)
        isMore = page.length === pageSize
        after = last === undefined ? undefined : { documentId: last.fact.documentId, start: last.fact.fact.span.start, factId: last.factId }
      }
    }
    return found
  })

/** By document. A quarantined statement is not in the graph, so its subject and object have labels only where other facts name them. */
const heldByDocument = (
  quarantined: ReadonlyArray<QuarantinedStatement>,
  entities: ReadonlyMap<string, Entity>,
): ReadonlyMap<string, ReadonlyArray<ReportedFact>> => {
  const held = new Map<string, Array<ReportedFact>>()
  for (const { subject, property, value, datatype, message, sources } of quarantined) {
    const named = entities.get(`<${subject}>`)
    for (const { document, quote, start, end } of sources) {
      const id = documentOfIri(document)
      const fact: ReportedFact = {
        status: "quarantined",
        subject: named?.label ?? subject,
        types: named?.types ?? [],
        property,
        object: datatype === undefined ? (entities.get(`<${value}>`)?.label ?? value) : value,
        ...(datatype === undefined ? {} : { datatype }),
        start,
        end,
        quote,
        reason: message,
      }
      append(held, id, fact)
    }
  }
  return held
}

/** In UTF-16 code units. A report truncates longer texts. */
const longestReportedText = 1_000_000

/** The text that the spans of a document's facts refer to; undefined where it is no longer stored. */
export const reportedText = ({ runId }: ReportedDocument): Effect.Effect<string | undefined, ArtifactError, Extractions> =>
  runId === undefined
    ? Effect.undefined
    : Effect.flatMap(Extractions, (extractions) => extractions.text(runId)).pipe(
        Effect.map((text) => text.slice(0, longestReportedText)),
        Effect.catchTag(["ArtifactMissing", "BlobNotFound", "ArtifactDamaged"], () => Effect.undefined),
      )
