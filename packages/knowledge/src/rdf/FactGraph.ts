/**
 * The graph of one document: its entities with class and label, the facts between them, and for every fact the words it rests
 * on. Where a fact comes from is said with RDF's own vocabulary for statements and PROV, so that any tool can ask for it.
 */
import { createHash } from "node:crypto"
import type { Fact, Mention, Span } from "../extract/Fact.ts"
import type { DocumentId, RunId } from "../storage/Identity.ts"
import { literal, namedNode, type Triple, triple } from "./Term.ts"
import { detentVocabulary, vocabularies } from "./Vocabulary.ts"

export interface FactSource {
  readonly documentId: DocumentId
  readonly runId: RunId
  /** The extractor's name, as provenance gives it. */
  readonly extractor: string
}

const { prov, rdf, rdfs, xsd } = vocabularies

export const graphPrefixes: Readonly<Record<string, string>> = { detent: detentVocabulary, prov, rdf, rdfs, xsd }

const documentPrefix = "urn:detent:document:"

export const documentIri = (document: DocumentId): string => `${documentPrefix}${document}`

/** The id in the IRI of a document, or the IRI as it is when it is none of ours. */
export const documentOfIri = (iri: string): string => (iri.startsWith(documentPrefix) ? iri.slice(documentPrefix.length) : iri)

/** Within a document, the same words of the same class are the same entity. What is one across documents is resolved later. */
export const entityIri = (document: DocumentId, mention: Mention): string =>
  `urn:detent:entity:${document}:${digest(mention.type, (mention.name ?? mention.text).normalize("NFC").replace(/\s+/gu, " ").trim())}`

export const factTriples = (facts: ReadonlyArray<Fact>, source: FactSource): ReadonlyArray<Triple> =>
  facts.flatMap((fact) => {
    const subject = namedNode(entityIri(source.documentId, fact.subject))
    const object =
      fact.object._tag === "Entity"
        ? namedNode(entityIri(source.documentId, fact.object.mention))
        : literal(fact.object.lexical, fact.object.datatype)
    return [
      ...mentionTriples(fact.subject, source),
      ...(fact.object._tag === "Entity" ? mentionTriples(fact.object.mention, source) : []),
      triple(subject, fact.property, object),
      ...statementTriples(fact, triple(subject, fact.property, object), source),
    ]
  })

/** An entity that is named, whether or not a fact speaks of it. */
export const mentionTriples = (mention: Mention, source: FactSource): ReadonlyArray<Triple> => {
  const entity = namedNode(entityIri(source.documentId, mention))
  return [
    triple(entity, `${rdf}type`, namedNode(mention.type)),
    triple(entity, `${rdfs}label`, literal(mention.text.replace(/\s+/gu, " ").trim())),
    triple(entity, `${prov}wasDerivedFrom`, namedNode(documentIri(source.documentId))),
  ]
}

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

/** The same fact at the same place is the same statement; at another place it is another witness. */
const statementIri = ({ subject, predicate, object }: Triple, span: Span, source: FactSource): string =>
  `urn:detent:statement:${source.documentId}:${digest(subject.value, predicate.value, kind(object), object.value, `${span.start}-${span.end}`)}`

const kind = (object: Triple["object"]): string => (object.termType === "Literal" ? object.datatype.value : object.termType)

const digest = (...parts: ReadonlyArray<string>): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)
