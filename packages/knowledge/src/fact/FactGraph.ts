/**
 * The graph of one document: its entities with class and label, the facts between them, and for every fact the words that state it.
 * Provenance uses RDF reification and PROV, so that any RDF tool can query it.
 */
import { createHash } from "node:crypto"
import * as DateTime from "effect/DateTime"
import { type Literal, languageLiteral, literal, namedNode, type Triple, triple } from "../rdf/Term.ts"
import { lineOf } from "../rdf/Turtle.ts"
import { detentVocabulary, vocabularies } from "../rdf/Vocabulary.ts"
import type { DocumentId, RunId } from "../storage/Identity.ts"
import type { Fact, Mention, Span } from "./Fact.ts"

export interface FactSource {
  readonly documentId: DocumentId
  readonly runId: RunId
  /** The extractor's name, as recorded in the provenance. */
  readonly extractor: string
  /** Language of the document. */
  readonly language?: string
}

const { dcterms, prov, rdf, rdfs, xsd } = vocabularies

export const graphPrefixes: Readonly<Record<string, string>> = { dcterms, detent: detentVocabulary, prov, rdf, rdfs, xsd }

const documentPrefix = "urn:detent:document:"
const entityPrefix = "urn:detent:entity:"
const statementPrefix = "urn:detent:statement:"

export const documentIri = (document: string): string => `${documentPrefix}${document}`

/** The id in the IRI of a document; any other IRI is returned unchanged. */
export const documentOfIri = (iri: string): string => (iri.startsWith(documentPrefix) ? iri.slice(documentPrefix.length) : iri)

/** Within a document, mentions with the same words, class and identifier are the same entity. Resolution merges entities across documents later. */
export const entityIri = (document: DocumentId, mention: Mention): string =>
  `${entityPrefix}${document}:${entityDigest(mention.type, mention.name ?? mention.text, mention.identifier)}`

/** The last part of an entity's IRI in its document. Whitespace is normalised, so label and original words have the same digest. */
export const entityDigest = (type: string, label: string, identifier?: string): string => {
  const name = label.normalize("NFC").replace(/\s+/gu, " ").trim()
  return identifier === undefined ? digest(type, name) : digest(type, name, identifier)
}

/** The document and digest in the IRI of an entity in its document; undefined for any other IRI. */
export const entityPlace = (iri: string): { readonly document: string; readonly digest: string } | undefined => {
  if (!iri.startsWith(entityPrefix)) return undefined
  const [document = "", of = ""] = iri.slice(entityPrefix.length).split(":")
  return { document, digest: of }
}

/** The document in the IRI of a statement; undefined for any other IRI. */
export const documentOfStatement = (iri: string): string | undefined =>
  iri.startsWith(statementPrefix) ? iri.slice(statementPrefix.length).split(":", 1)[0] : undefined

/** A version of a document, as its graph describes it. */
export interface DocumentNode {
  readonly documentId: DocumentId
  /** Its address. */
  readonly source: string
  readonly runId: RunId
  readonly title?: string
  /** Hash of the document's bytes. */
  readonly contentHash?: string
  /** A tag such as `de`. */
  readonly language?: string
  /** When it was extracted, in milliseconds. */
  readonly extractedAt?: number
}

/** The document as a PROV entity, in sorted lines of N-Triples. They sort before the lines of its entities. */
export const documentLines = ({
  documentId,
  source,
  runId,
  title,
  contentHash,
  language,
  extractedAt,
}: DocumentNode): ReadonlyArray<string> => {
  const document = namedNode(documentIri(documentId))
  const said = [
    triple(document, `${rdf}type`, namedNode(`${prov}Entity`)),
    triple(document, `${dcterms}source`, namedNode(asIri(source))),
    triple(document, `${prov}wasGeneratedBy`, namedNode(`urn:detent:run:${runId}`)),
    ...(title === undefined ? [] : [triple(document, `${dcterms}title`, literal(title.toWellFormed()))]),
    ...(contentHash === undefined ? [] : [triple(document, `${detentVocabulary}contentHash`, literal(contentHash))]),
    ...(language === undefined ? [] : [triple(document, `${dcterms}language`, literal(language))]),
    ...(extractedAt === undefined
      ? []
      : [triple(document, `${prov}generatedAtTime`, literal(DateTime.formatIso(DateTime.makeUnsafe(extractedAt)), `${xsd}dateTime`))]),
  ]
  return said.map(lineOf).sort()
}

/** Percent-encodes the characters of an address that an IRI must not contain. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern escapes control characters.
const asIri = (address: string): string => address.replace(/[\u0000-\u0020<>"{}|^`\\]/g, encodeURIComponent)

export const factTriples = (facts: ReadonlyArray<Fact>, source: FactSource): ReadonlyArray<Triple> =>
  facts.flatMap((fact) => {
    const stated = statedTriple(fact, source)
    return [
      ...mentionTriples(fact.subject, source),
      ...(fact.object._tag === "Entity" ? mentionTriples(fact.object.mention, source) : []),
      stated,
      ...statementTriples(fact, stated, source),
    ]
  })

/** The IRI of a fact's statement. Facts with the same statement IRI are the same fact. */
export const statementOf = (fact: Fact, source: FactSource): string => statementIri(statedTriple(fact, source), fact.span, source)

const statedTriple = (fact: Fact, source: FactSource): Triple => {
  const subject = namedNode(entityIri(source.documentId, fact.subject))
  const object =
    fact.object._tag === "Entity" ? namedNode(entityIri(source.documentId, fact.object.mention)) : valueLiteral(fact.object, source)
  return triple(subject, fact.property, object)
}

const valueLiteral = (
  { lexical, datatype, language: own }: { readonly lexical: string; readonly datatype: string; readonly language?: string },
  { language }: FactSource,
): Literal => (datatype === `${rdf}langString` ? languageLiteral(lexical, own ?? language ?? english) : literal(lexical, datatype))

const english = "en"

/** Labels of English documents, and of documents of undetected language, have no language tag, so that plain text finds them. */
const labelOf = (text: string, language: string | undefined): Literal =>
  language === undefined || language === english || language === "und" ? literal(text) : languageLiteral(text, language)

/** The triples of a mentioned entity, whether or not a fact involves it. */
export const mentionTriples = (mention: Mention, source: FactSource): ReadonlyArray<Triple> => {
  const entity = namedNode(entityIri(source.documentId, mention))
  return [
    triple(entity, `${rdf}type`, namedNode(mention.type)),
    triple(entity, `${rdfs}label`, labelOf(mention.text.replace(/\s+/gu, " ").trim(), source.language)),
    triple(entity, `${prov}wasDerivedFrom`, namedNode(documentIri(source.documentId))),
    ...(mention.identifier === undefined ? [] : [triple(entity, identifierProperty, literal(mention.identifier))]),
  ]
}

/** The identifier that the record of an entity has. */
export const identifierProperty = `${dcterms}identifier`

const statementTriples = (fact: Fact, stated: Triple, source: FactSource): ReadonlyArray<Triple> => {
  const statement = namedNode(statementIri(stated, fact.span, source))
  const say = (property: string, object: Triple["object"]) => triple(statement, property, object)
  return [
    say(`${rdf}type`, namedNode(`${rdf}Statement`)),
    say(`${rdf}subject`, stated.subject),
    say(`${rdf}predicate`, stated.predicate),
    say(`${rdf}object`, stated.object),
    say(`${prov}wasDerivedFrom`, namedNode(documentIri(source.documentId))),
    say(`${detentVocabulary}quote`, literal(fact.quote)),
    say(`${detentVocabulary}start`, literal(String(fact.span.start), `${xsd}integer`)),
    say(`${detentVocabulary}end`, literal(String(fact.span.end), `${xsd}integer`)),
    say(`${detentVocabulary}confidence`, literal(fact.confidence.toFixed(4), `${xsd}decimal`)),
    say(`${detentVocabulary}extractor`, literal(source.extractor)),
    say(`${detentVocabulary}run`, literal(source.runId)),
  ]
}

/** The same fact at the same place is the same statement; at another place it is another statement of the fact. */
const statementIri = ({ subject, predicate, object }: Triple, span: Span, source: Pick<StatementParts, "documentId">): string =>
  `${statementPrefix}${source.documentId}:${digest(subject.value, predicate.value, kind(object), object.value, `${span.start}-${span.end}`)}`

/** The parts of a fact of a document, as its statement's IRI has them: `subject` and an object that is an entity are IRIs of mentions. */
export interface StatementParts {
  readonly documentId: string
  readonly subject: string
  readonly property: string
  readonly object: Triple["object"]
  readonly span: Span
}

/** Whether the IRI of a statement is that of a fact with these parts. */
export const isStatementOf = (iri: string, { documentId, subject, property, object, span }: StatementParts): boolean =>
  iri === statementIri(triple(namedNode(subject), property, object), span, { documentId })

const kind = (object: Triple["object"]): string => (object.termType === "Literal" ? object.datatype.value : object.termType)

const digest = (...parts: ReadonlyArray<string>): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)
