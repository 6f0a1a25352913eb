/** What the first rows of a file would become: schemas of the API. */
import { Mapping, MappingSource, TargetField } from "@detent/tables/Mapping"
import { TableFormat } from "@detent/tables/TableFormat"
import * as Schema from "effect/Schema"
import { ItemProblem } from "../item/ItemProblem.ts"

/** A row of a preview. */
export const PreviewRow = Schema.Struct({
  index: Schema.Int,
  line: Schema.Int,
  /** Its cells or values as the file has them, long texts cut; absent where they are not kept. */
  cells: Schema.optionalKey(Schema.Json),
  /** The item that would be stored, long texts cut. */
  item: Schema.optionalKey(Schema.Json),
  /** Why it would fail. */
  problem: Schema.optionalKey(ItemProblem),
})
export type PreviewRow = typeof PreviewRow.Type

export const Preview = Schema.Struct({
  fileName: Schema.String,
  /** The kind of its items. */
  kind: Schema.String,
  table: TableFormat,
  columns: Schema.Array(Schema.String),
  /** The fields of the kind; absent where it accepts any. */
  fields: Schema.optionalKey(Schema.Array(TargetField)),
  /** The mapping that the rows are read by. */
  mapping: Mapping,
  /** Who gave the mapping; `proposed` where it was found by names and values. */
  source: Schema.Literals([...MappingSource.literals, "proposed", "none"]),
  /** Why the mapping cannot be used; the rows then have no items. */
  problems: Schema.Array(Schema.String),
  /** Columns that no field is read from. */
  unused: Schema.Array(Schema.String),
  /** Required fields that nothing is read into. */
  missing: Schema.Array(Schema.String),
  /** What to look at, such as that fewer rows are shown because they are large. */
  notes: Schema.Array(Schema.String),
  rows: Schema.Array(PreviewRow),
  /** How many of these rows would fail. */
  failing: Schema.Int,
})
export type Preview = typeof Preview.Type
