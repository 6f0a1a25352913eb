/** The format of a file: what the reader found in it, and what its user says of it. */
import * as Schema from "effect/Schema"

export const Format = Schema.Literals(["csv", "tsv", "xlsx", "json", "json-lines"])
export type Format = typeof Format.Type

export const Compression = Schema.Literals(["none", "gzip", "zstd"])
export type Compression = typeof Compression.Type

/** `latin-1` is ISO 8859-1, `windows-1252` has quotes, dashes and the euro sign in addition. */
export const Encoding = Schema.Literals(["utf-8", "utf-16le", "utf-16be", "latin-1", "windows-1252"])
export type Encoding = typeof Encoding.Type

const Character = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1))

/** What the user says of a file. The rest is found in it. */
export const TableOptions = Schema.Struct({
  format: Schema.optionalKey(Format),
  encoding: Schema.optionalKey(Encoding),
  /** The character between cells of CSV. */
  delimiter: Schema.optionalKey(Character),
  /** The character around cells of CSV. */
  quote: Schema.optionalKey(Character),
  /** Whether the first row has the names of the columns. Without them, the columns are `column 1`, `column 2` and so on. */
  header: Schema.optionalKey(Schema.Boolean),
  /** The name of a sheet of an XLSX file, or its number, counted from 1. Default: the first visible sheet. */
  sheet: Schema.optionalKey(Schema.Union([Schema.String, Schema.Int])),
})
export type TableOptions = typeof TableOptions.Type

export const TableFormat = Schema.Struct({
  format: Format,
  compression: Compression,
  encoding: Encoding,
  /** Of CSV and TSV. */
  delimiter: Schema.optionalKey(Character),
  quote: Schema.optionalKey(Character),
  /** Of CSV, TSV and XLSX. */
  header: Schema.optionalKey(Schema.Boolean),
  /** The names of the columns of CSV, TSV and XLSX, in their order. */
  columns: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Of XLSX. */
  sheet: Schema.optionalKey(Schema.String),
  /** All visible sheets of an XLSX file. */
  sheets: Schema.optionalKey(Schema.Array(Schema.String)),
})
export type TableFormat = typeof TableFormat.Type

/** The format in the words of `TableOptions`, such as `csv, windows-1252, delimiter ;, 12 columns`. */
export const formatText = ({ format, compression, encoding, delimiter, header, columns, sheet }: TableFormat): string =>
  [
    format,
    ...(compression === "none" ? [] : [compression]),
    ...(format === "xlsx" ? [] : [encoding]),
    ...(format !== "csv" || delimiter === undefined ? [] : [`delimiter ${delimiter}`]),
    ...(sheet === undefined ? [] : [`sheet ${sheet}`]),
    ...(columns === undefined ? [] : [`${columns.length} ${columns.length === 1 ? "column" : "columns"}`]),
    ...(header === false ? ["without a header"] : []),
  ].join(", ")
