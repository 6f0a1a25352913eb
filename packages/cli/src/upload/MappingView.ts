/** Mappings and previews of files in the output of commands. */
import type { FieldRule, Mapping, Preview } from "@detent/uploads"
import type { Style } from "../output/Style.ts"
import { type Column, pairsText, tableText } from "../output/Table.ts"

export const ruleColumns = ({ locale }: Pick<Mapping, "locale">): ReadonlyArray<Column<FieldRule>> => [
  { title: "FIELD", of: ({ field }) => field },
  { title: "COLUMN", of: ({ column }) => column ?? "" },
  { title: "AS", of: (rule) => readingText(rule, locale) },
]

/** How a field is read, such as `amount in de-DE`. */
const readingText = (rule: FieldRule, locale: string | undefined): string => {
  const { value, lookup, as, empty } = rule
  const own = rule.locale ?? locale
  const parts = [
    ...(value === undefined ? [] : [`always ${JSON.stringify(value)}`]),
    ...(lookup === undefined
      ? []
      : [
          `looked up: ${Object.entries(lookup)
            .slice(0, 5)
            .map(([text, found]) => `${text} = ${JSON.stringify(found)}`)
            .join(", ")}`,
        ]),
    ...(as === undefined || lookup !== undefined ? [] : [own === undefined || !localized.has(as) ? as : `${as} in ${own}`]),
    ...(empty === undefined ? [] : [`empty is ${JSON.stringify(empty)}`]),
  ]
  return parts.join("; ")
}

const localized = new Set<FieldRule["as"]>(["number", "amount", "date", "date-time"])

const sources: Readonly<Record<Preview["source"], string>> = {
  given: "as given",
  kept: "kept for the kind",
  definition: "of the definition",
  proposed: "proposed by names and values",
  none: "none: each column is the field of its name",
}

export const previewText = (preview: Preview, format: string, style: Style): string => {
  const { fileName, kind, mapping, source, problems, unused, missing, notes, rows, failing } = preview
  const list = (names: ReadonlyArray<string>) => (names.length === 0 ? undefined : names.join(", "))
  const pairs = pairsText(
    [
      ["file", fileName],
      ["format", format],
      ["kind", kind],
      ["mapping", sources[source]],
      ...problems.map((problem) => ["problem", problem, style.red] as const),
      ["missing fields", list(missing), style.yellow],
      ["unread columns", list(unused)],
      ...notes.map((note) => ["note", note] as const),
      [
        "first rows",
        problems.length > 0 ? undefined : `${rows.length - failing} of ${rows.length} would be stored`,
        failing === 0 ? style.green : style.yellow,
      ],
    ],
    style,
  )
  const rules = mapping.fields.length === 0 ? "" : `\n${tableText(mapping.fields, ruleColumns(mapping), style)}`
  const failed = rows.filter(({ problem }) => problem !== undefined).slice(0, mostShown)
  if (failed.length === 0) return `${pairs}${rules}`
  const shown = tableText(
    failed,
    [
      { title: "LINE", of: ({ line }) => line },
      { title: "PROBLEM", of: ({ problem }) => problem?.message ?? "" },
    ],
    style,
  )
  const more = failing > failed.length ? `and ${failing - failed.length} more of the first rows\n` : ""
  return `${pairs}${rules}\n${shown}${more}`
}

/** How many rows that would fail are shown. */
const mostShown = 10
