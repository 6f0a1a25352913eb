/** Applies a mapping to rows. */
import { amountOf, booleanOf, type Coerced, currencyOf, dateOf, dateTimeOf, jsonOf, listOf, numberOf, quoted } from "./coerce.ts"
import { type LocaleMarks, marksOf } from "./Locale.ts"
import type { FieldRule, Mapping } from "./Mapping.ts"
import { nestedValues, valueAt } from "./nested.ts"

/** Why a field has no value. */
export interface FieldProblem {
  readonly field: string
  readonly column: string
  readonly problem: string
}

export interface MappedRow {
  /** The fields that have values: also of a row with problems. */
  readonly values: object
  readonly problems: ReadonlyArray<FieldProblem>
}

/** Maps the values of a row: an object with a key for each column. */
export type MapRow = (row: object) => MappedRow

/** A problem as text, such as `price (column Preis): "abc" is no number in de-DE`. */
export const fieldProblemText = ({ field, column, problem }: FieldProblem): string =>
  field === column ? `${field}: ${problem}` : `${field} (column ${column}): ${problem}`

/** Prepares a mapping that {@link checkMapping} has found no problem with. */
export const makeMapRow = (mapping: Mapping): MapRow => {
  const marks = new Map<string | undefined, LocaleMarks>()
  const rules = mapping.fields.map((rule) => {
    const locale = rule.locale ?? mapping.locale
    const own = marks.get(locale) ?? marksOf(locale)
    marks.set(locale, own)
    return compile(rule, own)
  })
  const taken = new Set(mapping.fields.flatMap(({ column }) => (column === undefined ? [] : [column])))
  const targets = new Set(mapping.fields.map(({ field }) => field))
  const isKept = mapping.others !== "drop"
  return (row) => {
    const values: Array<readonly [string, unknown]> = []
    const problems: Array<FieldProblem> = []
    for (const { field, column = field, read } of rules) {
      const found = read(row as Readonly<Record<string, unknown>>)
      if (found === undefined) continue
      if ("problem" in found) problems.push({ field, column, problem: found.problem })
      else values.push([field, found.value])
    }
    if (isKept) {
      const filled = new Set(values.map(([field]) => field))
      for (const [name, cell] of Object.entries(row)) {
        if (taken.has(name) && !targets.has(name)) continue
        // A column with the name of a field that another column fills is that field only where the other column is missing.
        if (targets.has(name) && (taken.has(name) || filled.has(name))) continue
        values.push([name, cell])
      }
    }
    return { values: nestedValues(values), problems }
  }
}

interface CompiledRule {
  readonly field: string
  readonly column: string | undefined
  /** The value of a row; undefined where the field is missing. */
  readonly read: (row: Readonly<Record<string, unknown>>) => Coerced | undefined
}

const compile = (rule: FieldRule, marks: LocaleMarks): CompiledRule => {
  const { field, column, value, empty } = rule
  if (column === undefined) {
    const constant: Coerced = { value }
    return { field, column, read: () => constant }
  }
  const coerce = coercion(rule, marks)
  const missing: Coerced | undefined = empty === undefined ? undefined : { value: empty }
  return {
    field,
    column,
    read: (row) => {
      const cell = valueAt(row, column)
      return cell === undefined || cell === null || (typeof cell === "string" && cell.trim() === "") ? missing : coerce(cell)
    },
  }
}

const coercion = (rule: FieldRule, marks: LocaleMarks): ((cell: unknown) => Coerced) => {
  if (rule.lookup !== undefined) return lookingUp(rule.lookup, rule.otherwise)
  const { as } = rule
  if (as === undefined) return (cell) => ({ value: cell })
  switch (as) {
    case "text":
      return (cell) => ({ value: typeof cell === "object" ? JSON.stringify(cell) : String(cell) })
    case "number":
      return ofText((text) => numberOf(text, marks), "number")
    case "amount":
      return ofText((text) => amountOf(text, marks), "number")
    case "currency":
      return ofText(currencyOf)
    case "boolean":
      return ofText(booleanOf, "boolean")
    case "date":
      return ofText((text) => dateOf(text, marks))
    case "date-time":
      return ofText((text) => dateTimeOf(text, marks))
    case "list":
      return (cell) => (Array.isArray(cell) ? { value: cell } : ofText((text) => listOf(text, rule.separator))(cell))
    case "json":
      return (cell) => (typeof cell === "string" ? jsonOf(cell) : { value: cell })
  }
}

/** Reads texts. Sheets and JSON have numbers and truth values as well, which stay so where they are wanted. */
const ofText =
  (read: (text: string) => Coerced, own?: "number" | "boolean") =>
  (cell: unknown): Coerced => {
    if (typeof cell === "string") return read(cell)
    if (typeof cell === own) return { value: cell }
    if (typeof cell === "object") return { problem: `${quoted(JSON.stringify(cell))} is no text` }
    return read(String(cell))
  }

const lookingUp = (lookup: Readonly<Record<string, unknown>>, otherwise: unknown): ((cell: unknown) => Coerced) => {
  const known = new Map(Object.entries(lookup).map(([text, value]) => [lookupKey(text), value]))
  const shown = Object.keys(lookup).slice(0, 10).join(", ")
  return (cell) => {
    const text = typeof cell === "object" ? JSON.stringify(cell) : String(cell)
    const key = lookupKey(text)
    if (known.has(key)) return { value: known.get(key) }
    return otherwise === undefined ? { problem: `its lookup has no ${quoted(text)}; it has ${shown}` } : { value: otherwise }
  }
}

export const lookupKey = (text: string): string => text.trim().toLowerCase()
