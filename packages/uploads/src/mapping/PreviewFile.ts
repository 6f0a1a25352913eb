/** What the first rows of a file would become by a mapping, before anything is stored. */
import type { PersistenceFailed } from "@detent/machine"
import {
  checkMapping,
  isLocale,
  type Mapping,
  MappingRefused,
  proposeMapping,
  type Row,
  rowValues,
  type TableProblem,
  valueAt,
} from "@detent/tables"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { tableFile } from "../file/FileInspection.ts"
import { duplicateProblem } from "../item/ItemProblem.ts"
import type { ReadContent } from "../kind/ReadContent.ts"
import { memoryNotes } from "../reading/ItemReader.ts"
import { unreadable } from "../stages/ReadPage.ts"
import { type Kind, kindOfFile, type Uploading } from "../stages/Uploading.ts"
import { chooseMapping, type MappedFile } from "./ChooseMapping.ts"
import { firstRows, mostTextBytes } from "./FirstRows.ts"
import type { Preview, PreviewRow } from "./Preview.ts"
import { longestText, shortRow } from "./ShortRow.ts"

export interface PreviewOptions {
  /** Default: the kept mapping, that of the definition, or a proposal. */
  readonly mapping?: Mapping | "none" | undefined
  /** The locale of a proposal. Default: found by the values. */
  readonly locale?: string | undefined
  /** Default: 100, at most 1,000. */
  readonly rows?: number | undefined
  /** The file is the beginning of a longer one. */
  readonly isPart?: boolean | undefined
}

const defaultRows = 100
const mostRows = 1_000

export const previewFile = (
  uploading: Uploading,
  kind: Kind,
  { path, name, table }: MappedFile,
  { mapping: given, locale, rows: count = defaultRows, isPart = false }: PreviewOptions,
): Effect.Effect<Preview, PersistenceFailed | TableProblem> =>
  Effect.gen(function* () {
    const { limits, files } = uploading
    const file = tableFile(files, path, name)
    const { rows, columns, isBounded } = yield* firstRows({ file, table, limits, count: Math.max(1, Math.min(count, mostRows)), isPart })
    const values = rows.flatMap((row) => {
      const value = row.problem === undefined ? rowValues(row) : undefined
      return typeof value === "object" && value !== null && !Array.isArray(value) ? [value as Readonly<Record<string, unknown>>] : []
    })
    const read = (mapping: Mapping | undefined) => readRows(uploading, kindOfFile(kind, table, mapping), rows)
    const known = { fileName: name, kind: kind.name, table, columns, ...(kind.targets === undefined ? {} : { fields: kind.targets }) }
    const shown = (
      mapping: Mapping,
      source: Preview["source"],
      results: ReadonlyArray<PreviewRow>,
      notes: ReadonlyArray<string>,
    ): Preview => {
      const used = new Set(mapping.fields.flatMap(({ column }) => (column === undefined ? [] : [column])))
      const filled = new Set([
        ...mapping.fields.map(({ field }) => field),
        ...(mapping.others === "drop" ? [] : columns.filter((one) => !used.has(one))),
      ])
      const keeps = mapping.others !== "drop"
      // In JSON, the value of a key may be an object with fields, and a rule may read a field of it.
      const isJson = table.columns === undefined
      const reaching = (paths: Iterable<string>) => new Set(isJson ? [...paths].flatMap(beginningsOf) : paths)
      const readKeys = reaching(used)
      const keptFields = reaching((kind.targets ?? []).map((field) => field.path))
      const isKept = (column: string) => keeps && (kind.targets === undefined || keptFields.has(column))
      const isNested = (field: string) =>
        isJson && keeps && field.includes(".") && values.some((value) => valueAt(value, field) !== undefined)
      const short = results.map(shortRow)
      return {
        ...known,
        mapping,
        source,
        problems: [],
        unused: columns.filter((one) => !readKeys.has(one) && !isKept(one)),
        missing: (kind.targets ?? [])
          .filter(({ path: field, isRequired }) => isRequired && !filled.has(field) && !isNested(field))
          .map((field) => field.path),
        notes: [...notes, ...(isBounded ? [boundedNote(rows.length)] : []), ...(short.some(({ isCut }) => isCut) ? [cutNote] : [])],
        rows: short.map(({ row }) => row),
        failing: results.filter(({ problem }) => problem !== undefined).length,
      }
    }
    if (given !== undefined && given !== "none") {
      const problems = checkMapping(given, { fields: kind.targets, columns: table.columns })
      if (problems.length > 0) return { ...shown(given, "given", rows.map(cellsOf), []), problems }
      return shown(given, "given", yield* read(given), [])
    }
    const plain = yield* read(undefined)
    if (given === "none") return shown({ fields: [] }, "none", plain, [])
    const chosen = yield* Effect.catchTag(
      chooseMapping(uploading, kind, { path, name, table, columns }, undefined),
      "MappingRefused",
      (refused) => Effect.succeed(refused),
    )
    if (chosen !== undefined && !(chosen instanceof MappingRefused))
      return shown(chosen.mapping, chosen.source, yield* read(chosen.mapping), [])
    const isKnown = locale !== undefined && isLocale(locale)
    const proposal = proposeMapping({ columns, rows: values, fields: kind.targets ?? [], ...(isKnown ? { locale } : {}) })
    const noLocale = `there is no locale ${locale}, so it was found by the values; write it as de-DE`
    const notes = [
      ...(locale === undefined || isKnown ? [] : [noLocale]),
      ...(chosen === undefined ? [] : [chosen.message]),
      ...proposal.notes,
    ]
    const proposed = shown(proposal.mapping, "proposed", yield* read(proposal.mapping), notes)
    // Names that are alike can mislead: the columns as they are may fit better.
    const asTheyAre = shown({ fields: [] }, "none", plain, notes)
    return proposal.mapping.fields.length === 0 || asTheyAre.failing < proposed.failing ? asTheyAre : proposed
  })

/** A path and those that it is within: of `address.city`, `address` too. */
const beginningsOf = (path: string): ReadonlyArray<string> => {
  const parts = path.split(".")
  return parts.map((_, index) => parts.slice(0, index + 1).join("."))
}

const boundedNote = (rows: number): string =>
  `only ${rows} rows are shown, as rows are large: a preview reads ${mostTextBytes / 1024 / 1024} MiB of text`

const cutNote = `texts of more than ${longestText} characters are cut here, and end with …; an upload reads them completely`

const cellsOf = (row: Row): PreviewRow => {
  const cells = rowValues(row) ?? row.text
  return { index: row.index, line: row.line, ...(cells === undefined ? {} : { cells }) }
}

/** Reads the rows as an upload would: an item that exceeds its limits fails alone. */
const readRows = ({ reader, limits }: Uploading, kind: Kind, rows: ReadonlyArray<Row>): Effect.Effect<ReadonlyArray<PreviewRow>> => {
  const texts = rows.flatMap(({ index, text, problem }) => (text === undefined || problem !== undefined ? [] : [{ index, text }]))
  return Effect.map(reader.read(kind, texts, Effect.sync(memoryNotes)), (found) => {
    const results = new Map(texts.map(({ index }, place) => [index, found[place]]))
    const taken = new Map<string, number>()
    return rows.map((row): PreviewRow => {
      const result: ReadContent = results.get(row.index) ?? unreadable(row.problem, limits.maxItemBytes)
      const shown = cellsOf(row)
      if (result._tag === "Bad") return { ...shown, problem: result.problem }
      const { id, content } = result.content
      const first = taken.get(id)
      if (first !== undefined) return { ...shown, problem: duplicateProblem(first, id) }
      taken.set(id, row.index)
      return { ...shown, item: JSON.parse(content) as Schema.Json }
    })
  })
}
