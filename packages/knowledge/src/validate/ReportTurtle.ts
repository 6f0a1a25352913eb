/**
 * The report of a validation as SHACL has it, in Turtle, for tools that read those. Beside what SHACL says of a result, it has
 * the words of the documents that led to it.
 */
import * as Stream from "effect/Stream"
import { graphPrefixes } from "../rdf/FactGraph.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import { writeTurtle } from "../rdf/RdfWriting.ts"
import { checkIri, type InvalidTerm, literal, namedNode, type Triple, triple } from "../rdf/Term.ts"
import { detentVocabulary, vocabularies } from "../rdf/Vocabulary.ts"
import type { BatchId } from "../storage/Identity.ts"
import type { FactSource, QuarantinedStatement, ValidationReport, Violation } from "./Violation.ts"

const { prov, rdf, sh, xsd } = vocabularies

/** The text in pieces: the same report is the same text. */
export const reportTurtle = (batch: BatchId, report: ValidationReport): Stream.Stream<string, InvalidTerm | SortFailed> =>
  writeTurtle(Stream.fromIterable(reportTriples(batch, report)), { prefixes: { ...graphPrefixes, sh } })

function* reportTriples(batch: BatchId, report: ValidationReport): Generator<Triple> {
  const { conforms, violations, warnings, listed, quarantined, statements = [], remaining } = report
  const iri = `urn:detent:report:${batch}`
  const about = namedNode(iri)
  yield triple(about, `${rdf}type`, namedNode(`${sh}ValidationReport`))
  yield triple(about, `${sh}conforms`, literal(String(conforms), `${xsd}boolean`))
  yield triple(about, `${detentVocabulary}violations`, integer(violations))
  yield triple(about, `${detentVocabulary}warnings`, integer(warnings))
  if (remaining !== undefined) yield triple(about, `${detentVocabulary}remaining`, integer(remaining))
  for (const entity of quarantined) yield triple(about, `${detentVocabulary}quarantined`, nodeOf(entity))
  for (const [index, statement] of statements.entries()) {
    const held = `${iri}:held:${String(index + 1).padStart(4, "0")}`
    yield triple(about, `${detentVocabulary}heldBack`, namedNode(held))
    yield* heldTriples(held, statement)
  }
  for (const [index, violation] of listed.entries()) {
    // Counted with leading zeros, so that they stand in their order.
    const result = `${iri}:${String(index + 1).padStart(4, "0")}`
    yield triple(about, `${sh}result`, namedNode(result))
    yield* resultTriples(result, violation)
  }
}

function* resultTriples(
  iri: string,
  { focus, property, value, datatype, message, severity, severityIri, shape, component, sources }: Violation,
): Generator<Triple> {
  const result = namedNode(iri)
  yield triple(result, `${rdf}type`, namedNode(`${sh}ValidationResult`))
  yield triple(result, `${sh}focusNode`, nodeOf(focus))
  yield triple(result, `${sh}resultSeverity`, namedNode(severityIri ?? sh + severity))
  yield triple(result, `${sh}resultMessage`, literal(message))
  yield triple(result, `${sh}sourceShape`, nodeOf(shape))
  if (component !== undefined) yield triple(result, `${sh}sourceConstraintComponent`, nodeOf(component))
  if (property !== undefined) yield triple(result, `${sh}resultPath`, nodeOf(property))
  if (value !== undefined) yield triple(result, `${sh}value`, datatype === undefined ? nodeOf(value) : literal(value, datatype))
  for (const [index, source] of sources.entries()) {
    const witness = `${iri}:${index + 1}`
    yield triple(result, `${detentVocabulary}source`, namedNode(witness))
    yield* sourceTriples(witness, source)
  }
}

function* heldTriples(
  iri: string,
  { subject, property, value, datatype, message, shape, sources }: QuarantinedStatement,
): Generator<Triple> {
  const held = namedNode(iri)
  yield triple(held, `${rdf}subject`, nodeOf(subject))
  yield triple(held, `${rdf}predicate`, nodeOf(property))
  yield triple(held, `${rdf}object`, datatype === undefined ? nodeOf(value) : literal(value, datatype))
  yield triple(held, `${detentVocabulary}reason`, literal(message))
  yield triple(held, `${sh}sourceShape`, nodeOf(shape))
  for (const { document } of sources) yield triple(held, `${prov}wasDerivedFrom`, nodeOf(document))
}

function* sourceTriples(iri: string, { document, quote, start, end }: FactSource): Generator<Triple> {
  const source = namedNode(iri)
  yield triple(source, `${prov}wasDerivedFrom`, nodeOf(document))
  yield triple(source, `${detentVocabulary}quote`, literal(quote))
  yield triple(source, `${detentVocabulary}start`, integer(start))
  yield triple(source, `${detentVocabulary}end`, integer(end))
}

const integer = (count: number) => literal(String(count), `${xsd}integer`)

/** Blank nodes are known by their labels, which mean nothing outside the graph and the shapes: they are given as text. */
const nodeOf = (value: string): Triple["object"] => (checkIri(value) === undefined ? namedNode(value) : literal(value))
