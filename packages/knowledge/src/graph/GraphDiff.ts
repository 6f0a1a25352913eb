/**
 * The changes between two versions of a graph: the facts that documents state in only one of them, by document. A fact that a
 * document still states, at another place or in another run, is not a change.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { documentOfIri, documentOfStatement } from "../fact/FactGraph.ts"
import { detached, lineParts, nameOfNode, termOf } from "../rdf/Turtle.ts"
import { rdf, vocabularies, xsd } from "../rdf/Vocabulary.ts"
import { labelPredicate, mergedStreams } from "./GraphLines.ts"

/** A fact that a document states in only one of two versions of the graph. */
export const DiffFact = Schema.Struct({
  subject: Schema.String,
  subjectLabel: Schema.optionalKey(Schema.String),
  property: Schema.String,
  /** An IRI, or the text of a value. */
  object: Schema.String,
  objectLabel: Schema.optionalKey(Schema.String),
  /** Absent for an IRI. */
  datatype: Schema.optionalKey(Schema.String),
  /** The words of the document that state the fact. */
  quote: Schema.String,
})
export type DiffFact = typeof DiffFact.Type

export const DocumentDiff = Schema.Struct({
  documentId: Schema.String,
  /** The document's address; absent where the graph does not record it. */
  source: Schema.optionalKey(Schema.String),
  added: Schema.Array(DiffFact),
  removed: Schema.Array(DiffFact),
})
export type DocumentDiff = typeof DocumentDiff.Type

export const GraphDiff = Schema.Struct({
  /** Number of statements the graph gained and lost, listed or not. */
  added: Schema.Int,
  removed: Schema.Int,
  documents: Schema.Array(DocumentDiff),
})
export type GraphDiff = typeof GraphDiff.Type

/** The fields of a statement, by predicate. */
const parts: Readonly<Record<string, "subject" | "property" | "object" | "quote">> = {
  [`<${rdf.subject}>`]: "subject",
  [`<${rdf.predicate}>`]: "property",
  [`<${rdf.object}>`]: "object",
  [`<${vocabularies.detent}quote>`]: "quote",
}

/** Terms of N-Triples. */
type Statement = { [part in "subject" | "property" | "object" | "quote"]?: string }

const sourcePredicate = `<${vocabularies.dcterms}source>`

type Sign = "-" | "+"

/** Lists at most `limit` statements of each kind. Memory holds these, the statements of one document at a time, and all addresses. */
export const diffGraphs = <E>(
  before: Stream.Stream<string, E>,
  after: Stream.Stream<string, E>,
  { limit = 1000 }: { readonly limit?: number } = {},
): Effect.Effect<GraphDiff, E> =>
  Effect.gen(function* () {
    // A statement's IRI starts with its document, so the statements of one document are adjacent in both graphs.
    const signed = (lines: Stream.Stream<string, E>, sign: Sign) => Stream.map(lines, (line) => line + sign)
    const comparison = new Comparison(limit)
    yield* Stream.runForEachArray(mergedStreams([signed(before, "-"), signed(after, "+")]), (batch) =>
      Effect.sync(() => {
        for (const line of batch) comparison.add(line.slice(0, -1), line.endsWith("+") ? "+" : "-")
      }),
    )
    const { added, removed, documents, mentioned } = comparison.end()
    const labels = new Map<string, string>()
    if (mentioned.size > 0)
      yield* Stream.runForEachArray(mergedStreams([before, after]), (batch) =>
        Effect.sync(() => {
          for (const line of batch) {
            const { subject, predicate, object } = lineParts(line)
            if (predicate === labelPredicate && mentioned.has(subject) && !labels.has(subject))
              labels.set(detached(subject), detached(termOf(object).value))
          }
        }),
      )
    const shown = (all: ReadonlyArray<Statement>) => all.map((one) => diffFact(one, labels))
    return {
      added,
      removed,
      documents: documents.map(({ added: more, removed: less, ...document }) => ({
        ...document,
        added: shown(more),
        removed: shown(less),
      })),
    }
  })

interface ComparedDocument {
  readonly documentId: string
  readonly source?: string
  readonly added: ReadonlyArray<Statement>
  readonly removed: ReadonlyArray<Statement>
}

class Comparison {
  readonly #limit: number
  readonly #sources = new Map<string, string>()
  readonly #documents: Array<ComparedDocument> = []
  readonly #mentioned = new Set<string>()
  #added = 0
  #removed = 0
  #document = ""
  /** The statements of the current document, by IRI. */
  #statements: Readonly<Record<Sign, Map<string, Statement>>> = { "-": new Map(), "+": new Map() }

  constructor(limit: number) {
    this.#limit = limit
  }

  add(line: string, sign: Sign): void {
    const { subject, predicate, object } = lineParts(line)
    if (predicate === sourcePredicate) this.#sources.set(detached(documentOfIri(subject.slice(1, -1))), detached(termOf(object).value))
    const document = documentOfStatement(subject.slice(1, -1))
    const part = parts[predicate]
    if (document === undefined || part === undefined) return
    if (document !== this.#document) this.#compare(document)
    const statements = this.#statements[sign]
    const statement = statements.get(subject) ?? {}
    statements.set(subject, statement)
    statement[part] = object
  }

  end() {
    this.#compare("")
    return { added: this.#added, removed: this.#removed, documents: this.#documents, mentioned: this.#mentioned }
  }

  /** Compares the statements of the current document, then starts the next. */
  #compare(next: string): void {
    const [old, young] = [byFact(this.#statements["-"]), byFact(this.#statements["+"])]
    const added = [...young].flatMap(([fact, statement]) => (old.has(fact) ? [] : [statement]))
    const removed = [...old].flatMap(([fact, statement]) => (young.has(fact) ? [] : [statement]))
    const listed = { added: this.#listed(added, this.#added), removed: this.#listed(removed, this.#removed) }
    this.#added += added.length
    this.#removed += removed.length
    const source = this.#sources.get(this.#document)
    if (listed.added.length + listed.removed.length > 0)
      this.#documents.push({ documentId: detached(this.#document), ...(source === undefined ? {} : { source }), ...listed })
    this.#document = next
    this.#statements = { "-": new Map(), "+": new Map() }
  }

  #listed(statements: ReadonlyArray<Statement>, before: number): ReadonlyArray<Statement> {
    const listed = statements.slice(0, Math.max(0, this.#limit - before))
    for (const { subject, object } of listed)
      for (const term of [subject, object]) if (term?.startsWith("<") === true) this.#mentioned.add(detached(term))
    return listed
  }
}

/** Each fact once, even if the document states it at several places. */
const byFact = (statements: ReadonlyMap<string, Statement>): ReadonlyMap<string, Statement> =>
  new Map([...statements.values()].map((one) => [`${one.subject} ${one.property} ${one.object}`, one]))

const diffFact = ({ subject = "", property = "", object = "", quote = '""' }: Statement, labels: ReadonlyMap<string, string>): DiffFact => {
  const term = termOf(object)
  const subjectLabel = labels.get(subject)
  const objectLabel = labels.get(object)
  return {
    subject: nameOfNode(subject),
    ...(subjectLabel === undefined ? {} : { subjectLabel }),
    property: nameOfNode(property),
    object: term.termType === "Literal" ? term.value : nameOfNode(object),
    ...(objectLabel === undefined ? {} : { objectLabel }),
    ...(term.termType === "Literal" && term.datatype.value !== xsd.string ? { datatype: term.datatype.value } : {}),
    quote: termOf(quote).value,
  }
}
