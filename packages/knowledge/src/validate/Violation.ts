/** What validation found, as it is reported: with the words of the documents that led to it. */
import * as Schema from "effect/Schema"

/** Where a document said what a shape refuses. */
export const FactSource = Schema.Struct({
  document: Schema.String,
  quote: Schema.String,
  start: Schema.Int,
  end: Schema.Int,
})
export type FactSource = typeof FactSource.Type

export const Severity = Schema.Literals(["Violation", "Warning", "Info"])
export type Severity = typeof Severity.Type

export const Violation = Schema.Struct({
  /** The entity the shape was applied to. */
  focus: Schema.String,
  /** The property, or a path in the notation of SPARQL. */
  property: Schema.optionalKey(Schema.String),
  value: Schema.optionalKey(Schema.String),
  /** Of a value that is a literal. Without it, the value is a node. */
  datatype: Schema.optionalKey(Schema.String),
  message: Schema.String,
  severity: Severity,
  /** Of a shape with a severity of its own, which counts as a violation. */
  severityIri: Schema.optionalKey(Schema.String),
  shape: Schema.String,
  /** Which constraint of the shape: an IRI such as `sh:MaxCountConstraintComponent`. */
  component: Schema.optionalKey(Schema.String),
  sources: Schema.Array(FactSource),
})
export type Violation = typeof Violation.Type

/** A statement of the batch that a shape refuses, and why. */
export const QuarantinedStatement = Schema.Struct({
  subject: Schema.String,
  property: Schema.String,
  value: Schema.String,
  /** Of a value that is a literal. Without it, the value is a node. */
  datatype: Schema.optionalKey(Schema.String),
  /** Of the violation it takes part in. */
  message: Schema.String,
  shape: Schema.String,
  sources: Schema.Array(FactSource),
})
export type QuarantinedStatement = typeof QuarantinedStatement.Type

/** How a batch treats what does not conform: it fails, is added without the statements concerned, or is added with a report. */
export const ValidationPolicy = Schema.Literals(["fail", "quarantine", "warn"])
export type ValidationPolicy = typeof ValidationPolicy.Type

export const ValidationReport = Schema.Struct({
  conforms: Schema.Boolean,
  /** All that were found, also those that are not listed. */
  violations: Schema.Int,
  warnings: Schema.Int,
  /** The first thousand, violations before warnings. */
  listed: Schema.Array(Violation),
  /** The entities that statements of the batch were held back of. */
  quarantined: Schema.Array(Schema.String),
  /** The first thousand statements that were held back. */
  statements: Schema.optionalKey(Schema.Array(QuarantinedStatement)),
  /** How many violations the graph has without the statements held back: those that other batches state by themselves. */
  remaining: Schema.optionalKey(Schema.Int),
})
export type ValidationReport = typeof ValidationReport.Type

export const ValidationReportJson = Schema.fromJsonString(ValidationReport)

export const listedAtMost = 1000

/** One line for people: what was refused, why, and which documents say so. */
export const violationText = ({ focus, property, value, message, sources }: Violation): string => {
  const stated = [focus, property, value].filter((part) => part !== undefined).join(" ")
  const said = sources.slice(0, sourcesShown).map(({ document, quote }) => `${document}: "${quote}"`)
  return `${stated}: ${message}${said.length === 0 ? "" : ` (${said.join("; ")})`}`
}

/** Both sides of a contradiction, and one more. */
const sourcesShown = 3
