/** The validation report: each result with the quotes of the documents that state the facts concerned. */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { graphPrefixes } from "../fact/FactGraph.ts"
import { type NodeOfLines, statedLine } from "../graph/GraphLines.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import { checkIri, type InvalidTerm, literal, namedNode, type Triple, triple } from "../rdf/Term.ts"
import { termOf, writeTurtle } from "../rdf/Turtle.ts"
import { detentVocabulary, prov, rdf, vocabularies } from "../rdf/Vocabulary.ts"
import type { BatchId } from "../storage/Identity.ts"

/** A place where a document states a fact that violates a shape. */
const FactSource = Schema.Struct({
  document: Schema.String,
  quote: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
})
type FactSource = typeof FactSource.Type

export const Severity = Schema.Literals(["Violation", "Warning", "Info"])
export type Severity = typeof Severity.Type

export const Violation = Schema.Struct({
  /** The entity the shape was applied to. */
  focus: Schema.String,
  /** The property, or a SPARQL property path. */
  property: Schema.optionalKey(Schema.String),
  value: Schema.optionalKey(Schema.String),
  /** Present if the value is a literal. Absent: the value is a node. */
  datatype: Schema.optionalKey(Schema.String),
  message: Schema.String,
  severity: Severity,
  /** Present if the shape has a custom severity, which counts as a violation. */
  severityIri: Schema.optionalKey(Schema.String),
  shape: Schema.String,
  /** The constraint of the shape: an IRI such as `sh:MaxCountConstraintComponent`. */
  component: Schema.optionalKey(Schema.String),
  sources: Schema.Array(FactSource),
})
export type Violation = typeof Violation.Type

/** A statement of the batch that violates a shape, and the reason. */
export const QuarantinedStatement = Schema.Struct({
  subject: Schema.String,
  property: Schema.String,
  value: Schema.String,
  /** Present if the value is a literal. Absent: the value is a node. */
  datatype: Schema.optionalKey(Schema.String),
  /** Message of the violation that the statement causes. */
  message: Schema.String,
  shape: Schema.String,
  sources: Schema.Array(FactSource),
})
export type QuarantinedStatement = typeof QuarantinedStatement.Type

/** What a batch does about statements that violate a shape: it fails, publishes without them, or publishes them with a report. */
export const ValidationPolicy = Schema.Literals(["fail", "quarantine", "warn"])
export type ValidationPolicy = typeof ValidationPolicy.Type

export const ValidationReport = Schema.Struct({
  conforms: Schema.Boolean,
  /** Number of violations, including those not listed. */
  violations: Schema.Int,
  warnings: Schema.Int,
  /** The first thousand results, violations before warnings. */
  listed: Schema.Array(Violation),
  /** The entities with held statements. */
  quarantined: Schema.Array(Schema.String),
  /** The first thousand held statements. */
  statements: Schema.optionalKey(Schema.Array(QuarantinedStatement)),
  /** Number of violations that remain without the held statements: those that the statements of other batches cause. */
  remaining: Schema.optionalKey(Schema.Int),
})
export type ValidationReport = typeof ValidationReport.Type

export const ValidationReportJson = Schema.fromJsonString(ValidationReport)

export const listedAtMost = 1000

/** One line for users: the statement, the reason and the documents. */
export const violationText = ({ focus, property, value, message, sources }: Violation): string => {
  const stated = [focus, property, value].filter((part) => part !== undefined).join(" ")
  const said = sources.slice(0, sourcesShown).map(({ document, quote }) => `${document}: "${quote}"`)
  return `${stated}: ${message}${said.length === 0 ? "" : ` (${said.join("; ")})`}`
}

/** Enough for both sides of a contradiction and one more. */
const sourcesShown = 3

const derivedFrom = `<${prov.wasDerivedFrom}>`
const own = (name: string) => `<${detentVocabulary}${name}>`

/** Bounds the sources per fact: a thousand documents may repeat the same contradiction. */
const sourcesAtMost = 5

/** Adds to each violation the sources of its facts. */
export const attachSources = <E>(
  statements: Stream.Stream<NodeOfLines, E>,
  found: ReadonlyArray<Omit<Violation, "sources">>,
): Effect.Effect<ReadonlyArray<Violation>, E> =>
  Effect.map(
    sourcesBy(
      statements,
      found.map(({ focus, property }) => keyOf(focus, property)),
      (statement) => {
        const [subject, predicate] = [valueOf(statement, `<${rdf.subject}>`), valueOf(statement, `<${rdf.predicate}>`)]
        return [keyOf(subject, predicate), keyOf(subject, undefined)]
      },
    ),
    (sources) => found.map((one) => ({ ...one, sources: sources.get(keyOf(one.focus, one.property)) ?? [] })),
  )

/** The sources of facts, by line. */
export const sourcesOfLines = <E>(
  statements: Stream.Stream<NodeOfLines, E>,
  lines: ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, ReadonlyArray<FactSource>>, E> =>
  sourcesBy(statements, lines, (statement) => [statedLine(statement) ?? ""])

const sourcesBy = <E>(
  statements: Stream.Stream<NodeOfLines, E>,
  keys: ReadonlyArray<string>,
  keysOf: (statement: NodeOfLines) => ReadonlyArray<string>,
): Effect.Effect<ReadonlyMap<string, ReadonlyArray<FactSource>>, E> =>
  Effect.gen(function* () {
    const sources = new Map<string, Array<FactSource>>(keys.map((key) => [key, []]))
    if (keys.length === 0) return sources
    yield* Stream.runForEach(statements, (statement) =>
      Effect.sync(() => {
        for (const key of keysOf(statement)) {
          const list = sources.get(key)
          if (list !== undefined && list.length < sourcesAtMost) list.push(sourceOf(statement))
        }
      }),
    )
    return sources
  })

/** For a path that is not a single property, all facts about the focus node count. */
const keyOf = (focus: string, property: string | undefined) => `${focus}\n${property?.includes("<") ? "" : (property ?? "")}`

const valueOf = ({ values }: NodeOfLines, predicate: string): string => {
  const [object] = values.get(predicate) ?? []
  return object === undefined ? "" : termOf(object).value
}

const sourceOf = (statement: NodeOfLines): FactSource => ({
  document: valueOf(statement, derivedFrom),
  quote: valueOf(statement, own("quote")),
  start: Number(valueOf(statement, own("start"))),
  end: Number(valueOf(statement, own("end"))),
})

const { prov: provBase, rdf: rdfBase, sh, xsd } = vocabularies

/**
 * The report as a SHACL validation report in Turtle, in chunks, for SHACL tools. Each result also has the quotes of its documents.
 * Equal reports yield equal text.
 */
export const reportTurtle = (batch: BatchId, report: ValidationReport): Stream.Stream<string, InvalidTerm | SortFailed> =>
  writeTurtle(Stream.fromIterable(reportTriples(batch, report)), { prefixes: { ...graphPrefixes, sh } })

function* reportTriples(batch: BatchId, report: ValidationReport): Generator<Triple> {
  const { conforms, violations, warnings, listed, quarantined, statements = [], remaining } = report
  const iri = `urn:detent:report:${batch}`
  const about = namedNode(iri)
  yield triple(about, `${rdfBase}type`, namedNode(`${sh}ValidationReport`))
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
    // Leading zeros make the results sort in their order.
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
  yield triple(result, `${rdfBase}type`, namedNode(`${sh}ValidationResult`))
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
  yield triple(held, `${rdfBase}subject`, nodeOf(subject))
  yield triple(held, `${rdfBase}predicate`, nodeOf(property))
  yield triple(held, `${rdfBase}object`, datatype === undefined ? nodeOf(value) : literal(value, datatype))
  yield triple(held, `${detentVocabulary}reason`, literal(message))
  yield triple(held, `${sh}sourceShape`, nodeOf(shape))
  for (const { document } of sources) yield triple(held, `${provBase}wasDerivedFrom`, nodeOf(document))
}

function* sourceTriples(iri: string, { document, quote, start, end }: FactSource): Generator<Triple> {
  const source = namedNode(iri)
  yield triple(source, `${provBase}wasDerivedFrom`, nodeOf(document))
  yield triple(source, `${detentVocabulary}quote`, literal(quote))
  yield triple(source, `${detentVocabulary}start`, integer(start))
  yield triple(source, `${detentVocabulary}end`, integer(end))
}

const integer = (count: number) => literal(String(count), `${xsd}integer`)

/** Blank nodes are written as literals, since their labels have no meaning outside the graph and the shapes. */
const nodeOf = (value: string): Triple["object"] => (checkIri(value) === undefined ? namedNode(value) : literal(value))
