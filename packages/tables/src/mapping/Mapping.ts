/**
 * A mapping of columns to fields: which column a field is read from, and how. It is data, so that it can be kept, edited and given in
 * code.
 *
 * ```ts
 * const prices: Mapping = {
 *   locale: "de-DE",
 *   fields: [
 *     { field: "sku", column: "Artikelnummer" },
 *     { field: "price", column: "Preis", as: "amount" },
 *     { field: "currency", column: "Preis", as: "currency" },
 *     { field: "address.country", value: "DE" },
 *     { field: "state", column: "Status", lookup: { neu: "new", alt: "used" } },
 *   ],
 * }
 * ```
 */
import { unknownKeyText } from "@detent/machine/Nearest"
import * as Schema from "effect/Schema"
import { isLocale } from "./Locale.ts"
import { mostParts } from "./nested.ts"

/** How the text of a cell becomes a value. Default: the cell as it is. */
export const ValueType = Schema.Literals([
  "text",
  /** By the marks of the locale, such as `1.234,5`. */
  "number",
  /** The number of an amount of money, such as 12.5 of `12,50 EUR`. */
  "amount",
  /** The currency of an amount of money as its ISO code, such as EUR of `12,50 €`. */
  "currency",
  /** `yes` and `no`, `true` and `false`, `1` and `0`, `x` and so on, also in other languages. */
  "boolean",
  /** A day in the order of the locale, or with the name of its month, as `2026-01-31`. */
  "date",
  /** A day with a time, as `2026-01-31T18:00:00`. */
  "date-time",
  /** Texts between separators. */
  "list",
  /** The JSON in the cell. */
  "json",
])
export type ValueType = typeof ValueType.Type

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(500))

export const FieldRule = Schema.Struct({
  /** The field; `address.city` is the field `city` of `address`. */
  field: Name,
  /** The column with its value. In a file of JSON, a key or the path of a nested key. */
  column: Schema.optionalKey(Name),
  /** The value of every row, in place of a column. */
  value: Schema.optionalKey(Schema.Json),
  as: Schema.optionalKey(ValueType),
  /** The locale of numbers and dates. Default: that of the mapping. */
  locale: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100))),
  /** Values for the texts of the cell, in any case of letters. */
  lookup: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** The value of texts that the lookup does not have. Default: such a row is refused. */
  otherwise: Schema.optionalKey(Schema.Json),
  /** The value of empty cells. Default: the field is missing. */
  empty: Schema.optionalKey(Schema.Json),
  /** What separates the texts of a list. Default: a comma or semicolon. */
  separator: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(10))),
})
export type FieldRule = typeof FieldRule.Type

/** The most rules of a mapping. */
const mostRules = 2_000

export const Mapping = Schema.Struct({
  /** The locale of numbers and dates, such as `de-DE`. Without one, only `1234.5` and `2026-01-31` are read. */
  locale: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(100))),
  fields: Schema.Array(FieldRule).check(Schema.isMaxLength(mostRules)),
  /** Whether columns without a rule are fields under their own names, or are left out. Default: `keep`. */
  others: Schema.optionalKey(Schema.Literals(["keep", "drop"])),
})
export type Mapping = typeof Mapping.Type

/** Who gave a mapping: the caller, the database that keeps one for the kind, or the definition of the kind. */
export const MappingSource = Schema.Literals(["given", "kept", "definition"])
export type MappingSource = typeof MappingSource.Type

/** A field that a mapping can fill. */
export const TargetField = Schema.Struct({
  /** Its path, such as `address.city`. */
  path: Schema.String,
  type: Schema.Literals(["text", "number", "boolean", "date", "list", "any"]),
  isRequired: Schema.Boolean,
  /** The values that it may have, if they are few. */
  choices: Schema.optionalKey(Schema.Array(Schema.String)),
})
export type TargetField = typeof TargetField.Type

/** What a mapping is checked against. What is not given is not checked. */
export interface MappingPlace {
  /** The columns of the file. */
  readonly columns?: ReadonlyArray<string> | undefined
  /** All fields there are. */
  readonly fields?: ReadonlyArray<Pick<TargetField, "path" | "type">> | undefined
}

/** More problems of a mapping are not looked for. */
const mostProblems = 20

/** What is wrong with a mapping, a sentence for each of the first problems; empty where it can be used. */
export const checkMapping = ({ locale, fields: rules }: Mapping, { columns, fields }: MappingPlace = {}): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const checkLocale = (tag: string | undefined, place: string) => {
    if (tag !== undefined && !isLocale(tag)) problems.push(`${place} has the locale ${tag}, which does not exist; write it as de-DE`)
  }
  checkLocale(locale, "it")
  const known = columns === undefined ? undefined : new Set(columns)
  const paths = fields === undefined ? undefined : new Map(fields.map((one) => [one.path, one.type]))
  const targets = new Set<string>()
  for (const rule of rules) {
    if (problems.length >= mostProblems) return problems
    const { field, column, value } = rule
    const parts = field.split(".")
    if (parts.includes("") || parts.length > mostParts) problems.push(`${field} is no field; name it, or its path such as address.city`)
    if (targets.has(field)) problems.push(`${field} has two rules; keep one`)
    targets.add(field)
    if ((column === undefined) === (value === undefined))
      problems.push(column === undefined ? `${field} has neither a column nor a value` : `${field} has a column and a value; keep one`)
    checkLocale(rule.locale, field)
    if (column !== undefined && known !== undefined && !known.has(column))
      problems.push(`${field} is read from a column that the file does not have: ${unknownKeyText(column, columns ?? [])}`)
    if (paths !== undefined && !isField(field, paths)) problems.push(`there is no such field: ${unknownKeyText(field, [...paths.keys()])}`)
  }
  for (const field of targets) {
    const outer = outerOf(field).find((path) => targets.has(path))
    if (outer !== undefined) problems.push(`${field} is a part of ${outer}, which has a rule, too; keep one`)
  }
  return problems
}

/** Whether the field is known, has known fields, or is in one that may have any. */
const isField = (field: string, paths: ReadonlyMap<string, TargetField["type"]>): boolean =>
  paths.has(field) ||
  outerOf(field).some((path) => paths.get(path) === "any") ||
  [...paths.keys()].some((path) => path.startsWith(`${field}.`))

const outerOf = (field: string): ReadonlyArray<string> => {
  const parts = field.split(".")
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."))
}

/** A mapping that cannot be used. */
export class MappingRefused extends Schema.TaggedError<MappingRefused>()("MappingRefused", {
  /** What the mapping is for: the name of a kind or of a file. */
  target: Schema.String,
  problems: Schema.Array(Schema.String),
  /** What to do. Default: correct the mapping. */
  next: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const shown = this.problems.slice(0, 5).join("; ")
    const more = this.problems.length > 5 ? `; and ${this.problems.length - 5} more` : ""
    return `the mapping of ${this.target} cannot be used: ${shown}${more}; ${this.next ?? "correct it, or map the file again"}`
  }
}
