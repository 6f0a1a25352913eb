/** The options of commands that say what the format of a file is, where it is found wrong. */
import { Encoding, Format, TableOptions } from "@detent/tables/TableFormat"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../../Failure.ts"
import type { Option } from "../../line/Command.ts"

export const tableOptions = [
  { name: "format", kind: "text", value: "FORMAT", choices: Format.literals, summary: "the format of the file" },
  { name: "encoding", kind: "text", value: "ENCODING", choices: Encoding.literals, summary: "the encoding of the file" },
  { name: "delimiter", kind: "text", value: "CHARACTER", summary: "the character between cells; `tab` for a tab" },
  { name: "quote", kind: "text", value: "CHARACTER", summary: "the character around cells" },
  { name: "header", kind: "text", value: "YES", choices: ["yes", "no"], summary: "whether the first row has the names of the columns" },
  {
    name: "sheet",
    kind: "text",
    value: "SHEET",
    summary: "the sheet of an XLSX file, by name or number. Default: the first visible sheet",
  },
] as const satisfies ReadonlyArray<Option>

type Values = { readonly [Name in (typeof tableOptions)[number]["name"]]?: string | undefined }

/** The format that the options give. */
export const givenTable = ({ format, encoding, delimiter, quote, header, sheet }: Values): Effect.Effect<TableOptions, WrongUsage> => {
  const options = {
    format,
    encoding,
    delimiter: delimiter === "tab" ? "\t" : delimiter,
    quote,
    header: header === undefined ? undefined : header === "yes",
    sheet,
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return Effect.mapError(
    Schema.decodeUnknownEffect(TableOptions)(given),
    () => new WrongUsage({ problem: "the delimiter or the quote is not one character", nextStep: "give one character, or `tab`" }),
  )
}
