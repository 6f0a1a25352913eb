/** What a mapping makes of the documents of a manifest, as commands and the API show it. */
import * as Schema from "effect/Schema"
import { FactMapping } from "../mapping/FactMapping.ts"
import { NotRead } from "../runs/Run.ts"
import { Count } from "../storage/Quantity.ts"

export const SampleFact = Schema.Struct({
  subject: Schema.String,
  /** The last part of the property's IRI. */
  property: Schema.String,
  object: Schema.String,
  /** The class of an entity, or the datatype of a value. */
  type: Schema.String,
  source: Schema.String,
  /** The cell, with the name of its column. */
  quote: Schema.String,
})

export const MappedTable = Schema.Struct({
  /** The pattern of the files, and the table where they have several. */
  file: Schema.String,
  table: Schema.optionalKey(Schema.String),
  /** Documents of the manifest that match the pattern. */
  documents: Count,
  /** Records that were looked at. */
  records: Count,
  /** Entities and facts that they give. */
  entities: Count,
  facts: Count,
  /** The first facts. */
  samples: Schema.Array(SampleFact),
  /** Values that do not fit the datatype of their property, and records without a name. */
  misfits: Schema.Struct({ count: Count, examples: Schema.Array(Schema.String) }),
  /** Columns that no rule reads. */
  notRead: Schema.optionalKey(NotRead),
  /** The columns with their first values. */
  columns: Schema.Array(
    Schema.Struct({ column: Schema.String, values: Schema.Array(Schema.String), rule: Schema.optionalKey(Schema.String) }),
  ),
}).annotate({ identifier: "MappedTable" })

export const MappingPreview = Schema.Struct({
  /** Whether the mapping is that of the manifest, or a proposal. */
  source: Schema.Literals(["given", "proposed"]),
  mapping: FactMapping,
  /** The mapping as YAML, with the notes as comments. */
  text: Schema.String,
  /** What to look at, a sentence each. */
  notes: Schema.Array(Schema.String),
  /** Why the mapping cannot be used. Empty where it can. */
  problems: Schema.Array(Schema.String),
  tables: Schema.Array(MappedTable),
}).annotate({ identifier: "MappingPreview" })
export type MappingPreview = typeof MappingPreview.Type
