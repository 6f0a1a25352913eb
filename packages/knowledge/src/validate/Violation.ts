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
  property: Schema.optionalKey(Schema.String),
  value: Schema.optionalKey(Schema.String),
  /** Of a value that is a literal. Without it, the value is a node. */
  datatype: Schema.optionalKey(Schema.String),
  message: Schema.String,
  severity: Severity,
  shape: Schema.String,
  sources: Schema.Array(FactSource),
})
export type Violation = typeof Violation.Type

/** How a batch treats what does not conform: it fails, goes on without the entities concerned, or goes on with a report. */
export const ValidationPolicy = Schema.Literals(["fail", "quarantine", "warn"])
export type ValidationPolicy = typeof ValidationPolicy.Type

export const ValidationReport = Schema.Struct({
  conforms: Schema.Boolean,
  /** All that were found, also those that are not listed. */
  violations: Schema.Int,
  warnings: Schema.Int,
  /** The first thousand. */
  listed: Schema.Array(Violation),
  /** The entities that were left out. */
  quarantined: Schema.Array(Schema.String),
})
export type ValidationReport = typeof ValidationReport.Type

export const ValidationReportJson = Schema.fromJsonString(ValidationReport)

export const listedAtMost = 1000
