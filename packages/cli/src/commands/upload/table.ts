/** The options of commands that say how a file is read: its format, where it is found wrong, and its mapping. */
import { readFileSync } from "node:fs"
import { Mapping } from "@detent/tables/Mapping"
import { Encoding, Format, TableOptions } from "@detent/tables/TableFormat"
import { problemOfSchema } from "@detent/workspace/SchemaProblem"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
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

export const mappingOption = {
  name: "mapping",
  kind: "text",
  value: "FILE",
  summary:
    "which columns the fields are read from: a file of JSON, or `none`. Default: the mapping of the kind, if the file has its columns",
  complete: "file",
} as const satisfies Option

const decodeMapping = Schema.decodeUnknownResult(Schema.fromJsonString(Mapping), { onExcessProperty: "error" })

/** The mapping in a file. */
export const readMapping = (file: string | undefined): Effect.Effect<Mapping | "none" | undefined, WrongUsage> =>
  Effect.gen(function* () {
    if (file === undefined || file === "none") return file
    const text = yield* Effect.try({
      try: () => readFileSync(file, "utf8"),
      catch: () => new WrongUsage({ problem: `there is no file ${file}`, nextStep: "make one with `detent upload map FILE --write`" }),
    })
    const decoded = decodeMapping(text)
    if (Result.isSuccess(decoded)) return decoded.success
    const problem = `${file} is no mapping: ${problemOfSchema(decoded.failure)}`
    return yield* new WrongUsage({ problem, nextStep: "correct it, or make one with `detent upload map FILE --write`" })
  })

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
