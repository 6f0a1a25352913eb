/**
 * A mapping of tables and objects to facts: which column names the entity of a record, and which property each other column is. It is
 * data, in a file `mapping.yaml` beside the documents.
 *
 * ```yaml
 * files:
 *   - file: constituents.csv
 *     class: Company
 *     name: Security
 *     identifier: Symbol
 *     facts:
 *       - { column: GICS Sector, property: sector }
 *       - { column: Date added, property: joined, as: date, locale: en-US }
 *     leaveOut: [CIK]
 *   - file: artists/*.json
 *     class: Artist
 *     name: fc
 *     facts:
 *       - { column: "movements[].name", property: movement }
 *     nested:
 *       - { each: "works[]", link: { property: created }, class: Work, name: title, facts: [] }
 * ```
 */
import { ValueType } from "@detent/tables/Mapping"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))
const Locale = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100)))

export const FactRule = Schema.Struct({
  /** The column with the value. In an object, a key or the path of a nested key; `[]` stands for each item of a list. */
  column: Name,
  /** An IRI, its last part, or a label. */
  property: Name,
  /** Whether the value is the subject of the fact, and the entity of the record its object. */
  inverse: Schema.optionalKey(Schema.Boolean),
  /** The class of the entity that the value names. Default: the range of the property. */
  class: Schema.optionalKey(Name),
  /** The column with the identifier of the entity that the value names. */
  identifier: Schema.optionalKey(Name),
  /** How the text becomes a value. Default: by the datatype of the property. */
  as: Schema.optionalKey(ValueType),
  /** The locale of numbers and dates. Default: that of the file. */
  locale: Locale,
  /** What the texts mean, in any case of letters. Other texts are not read. */
  lookup: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** What separates the values of a cell. Default: a cell is one value. */
  separator: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(10))),
  /** The language of the texts, as a tag such as `de`. */
  language: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*$/u))),
})
export type FactRule = typeof FactRule.Type

const ofRecord = {
  /** The class of the entity of each record: an IRI, its last part, or a label. */
  class: Name,
  /** The column with its name. */
  name: Name,
  /** The column with its identifier: records of one name and different identifiers are different entities. */
  identifier: Schema.optionalKey(Name),
  facts: Schema.Array(FactRule),
  /** Columns that are not read on purpose, and not counted. `works[]` leaves out all below it. */
  leaveOut: Schema.optionalKey(Schema.Array(Name)),
}

/** How the items of a list are linked to the entity of the record that has the list. */
const Link = Schema.Struct({ property: Name, inverse: Schema.optionalKey(Schema.Boolean) })

export interface RecordRule extends Schema.Struct.Type<typeof ofRecord> {
  readonly nested?: ReadonlyArray<NestedRule>
}

/** Records in a list of a record. Their columns are paths from the item. */
export interface NestedRule extends RecordRule {
  /** The path of the list: `works[]`. */
  readonly each: string
  readonly link?: typeof Link.Type
}

const NestedRule: Schema.Codec<NestedRule> = Schema.Struct({
  each: Name,
  link: Schema.optionalKey(Link),
  ...ofRecord,
  nested: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<NestedRule> => NestedRule))),
}).annotate({ identifier: "NestedRule" })

export const FileRule = Schema.Struct({
  /** A file name or the end of a path: `*` stands for any characters of a name, `**` for any folders. */
  file: Name,
  /** A table of the file: a sheet, the caption of a table or `table 2`, or `front matter`. Default: each with these columns. */
  table: Schema.optionalKey(Name),
  /** The path of a list in an object, whose items are the records: `artists[]`. Default: the object itself. */
  each: Schema.optionalKey(Name),
  locale: Locale,
  ...ofRecord,
  nested: Schema.optionalKey(Schema.Array(NestedRule)),
})
export type FileRule = typeof FileRule.Type

/** The most rules for files. */
const mostFiles = 1_000

export const FactMapping = Schema.Struct({ files: Schema.Array(FileRule).check(Schema.isMaxLength(mostFiles)) }).annotate({
  identifier: "FactMapping",
})
export type FactMapping = typeof FactMapping.Type

/** A mapping that cannot be used. */
export class FactMappingRefused extends Schema.TaggedError<FactMappingRefused>()("FactMappingRefused", {
  source: Schema.String,
  problems: Schema.Array(Schema.String),
}) {
  override get message() {
    const more = this.problems.length > shownProblems ? `; and ${this.problems.length - shownProblems} more` : ""
    return `${this.source}: ${this.problems.slice(0, shownProblems).join("; ")}${more}; correct the mapping, or propose one with \`detent batch map\``
  }
}

const shownProblems = 5

const decode = Schema.decodeUnknownResult(Schema.toCodecJson(FactMapping))

/** Reads a mapping, which is YAML or JSON. */
export const readFactMapping = (source: string, text: string): Effect.Effect<FactMapping, FactMappingRefused> =>
  Effect.gen(function* () {
    const { parseDocument } = yield* Effect.promise(() => import("yaml"))
    const document = parseDocument(text, { schema: "core", uniqueKeys: true, logLevel: "silent" })
    const [error] = document.errors
    if (error !== undefined) return yield* new FactMappingRefused({ source, problems: [`it is no YAML: ${error.message.split("\n")[0]}`] })
    const decoded = decode(document.toJS({ maxAliasCount: 100 }), { onExcessProperty: "error", errors: "all" })
    return Result.isSuccess(decoded)
      ? decoded.success
      : yield* new FactMappingRefused({ source, problems: decoded.failure.message.split("\n").filter((line) => line.trim() !== "") })
  })

/** A mapping as YAML. `notes` stand above it, a comment line each. */
export const factMappingText = (mapping: FactMapping, notes: ReadonlyArray<string> = []): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => import("yaml")),
    ({ stringify }) => `${notes.map((note) => `# ${note.replace(/\s+/gu, " ")}\n`).join("")}${stringify(mapping, { lineWidth: 140 })}`,
  )
