/** Schemas of the rows of the tables. */
import { Mapping } from "@detent/tables"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import { ProblemReason } from "../item/ItemProblem.ts"

/** PostgreSQL returns a bigint where SQLite returns a number. */
const Whole = Schema.Union([Schema.Int, Schema.BigInt]).pipe(
  Schema.decodeTo(Schema.Int, SchemaTransformation.transform<number, number | bigint>({ decode: Number, encode: (whole) => whole })),
)

export const BatchRow = Schema.Struct({
  batch: Whole,
  batch_id: Schema.String,
  /** The name of its upload definition. */
  kind: Schema.String,
  file_name: Schema.String,
  md5: Schema.String,
  created_at: Whole,
  next_index: Whole,
  next_offset: Whole,
  next_line: Whole,
  stored: Whole,
  failed: Whole,
  run_started_at: Schema.NullOr(Whole),
  run_start_index: Whole,
  updated_at: Whole,
})
export type BatchRow = typeof BatchRow.Type

export const EntryState = Schema.Literals(["stored", "failed", "processing"])
export type EntryState = typeof EntryState.Type

export const EntryRow = Schema.Struct({
  item_index: Whole,
  state: EntryState,
  item_id: Schema.NullOr(Schema.String),
  line: Whole,
  byte_offset: Whole,
  attempts: Whole,
  reason: Schema.NullOr(ProblemReason),
  message: Schema.NullOr(Schema.String),
  corrected_at: Schema.NullOr(Whole),
})
export type EntryRow = typeof EntryRow.Type

export const FailedRow = Schema.Struct({ ...EntryRow.fields, content: Schema.NullOr(Schema.String) })
export type FailedRow = typeof FailedRow.Type

export const ContentRow = Schema.Struct({ content: Schema.NullOr(Schema.String) })

export const ReasonRow = Schema.Struct({ reason: ProblemReason, entries: Whole })

export const ExampleRow = Schema.Struct({
  reason: ProblemReason,
  item_index: Whole,
  line: Whole,
  item_id: Schema.NullOr(Schema.String),
  message: Schema.String,
})

export const DuplicateRow = Schema.Struct({ item_id: Schema.String, item_index: Whole })

/** An item whose reading exceeded the limit. */
export const LimitRow = Schema.Struct({ item_index: Whole, attempts: Whole, task_limit: Schema.String, problem: Schema.String })

export const MappingRow = Schema.Struct({ mapping: Schema.fromJsonString(Mapping), kept_at: Whole })

export const AttemptsRow = Schema.Struct({ attempts: Whole })

/** A stored item, and whether it has the compared content. */
export const SameRow = Schema.Struct({ id: Schema.String, same: Whole })

export const IndexRow = Schema.Struct({ item_index: Whole })

export const ItemRow = Schema.Struct({
  item: Whole,
  id: Schema.String,
  time: Schema.Finite,
  content: Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)),
  item_index: Whole,
  batch_id: Schema.String,
})
export type ItemRow = typeof ItemRow.Type
