/** Proposes a mapping by the names of columns and by the values of the first rows. */
import { amountOf, booleanOf, currencyOf, dateOf, dateTimeOf, isTruthWord, numberOf } from "./coerce.ts"
import { type LocaleMarks, marksOf } from "./Locale.ts"
import type { FieldRule, Mapping, TargetField, ValueType } from "./Mapping.ts"
import { lookupKey } from "./mapRow.ts"
import { valueAt } from "./nested.ts"

export interface ProposeOptions {
  readonly columns: ReadonlyArray<string>
  /** The values of the first rows. */
  readonly rows: ReadonlyArray<object>
  /** The fields to fill; none where any field is accepted. */
  readonly fields: ReadonlyArray<TargetField>
  /** Default: found by the values. */
  readonly locale?: string | undefined
}

export interface Proposal {
  readonly mapping: Mapping
  /** Columns that no field is read from. */
  readonly unused: ReadonlyArray<string>
  /** Required fields for which no column was found. */
  readonly missing: ReadonlyArray<string>
  /** What its user should look at, a sentence each. */
  readonly notes: ReadonlyArray<string>
}

/** How many different values of a column are looked at. */
const mostValues = 200

interface Column {
  readonly name: string
  /** Different values as texts, without empty ones. */
  readonly texts: ReadonlyArray<string>
  /** Whether all values are texts, and not numbers or truth values of a sheet. */
  readonly isText: boolean
}

export const proposeMapping = ({ columns: names, rows, fields, locale: given }: ProposeOptions): Proposal => {
  const columns = names.map((name) => columnOf(name, rows))
  const dialect = given === undefined ? foundLocale(columns) : { locale: given, notes: [] }
  const marks = marksOf(dialect.locale)
  const found = assign(fields, columns, marks)
  const rules = fields.flatMap((field) => {
    const column = found.get(field.path)
    return column === undefined ? [] : ruleOf(field, column, marks)
  })
  const used = new Set([...found.values()].map(({ name }) => name))
  const needsLocale = rules.some(({ as }) => as !== undefined && localized.has(as))
  return {
    mapping: { ...(dialect.locale !== undefined && needsLocale ? { locale: dialect.locale } : {}), fields: rules },
    unused: names.filter((name) => !used.has(name)),
    missing: fields.filter(({ path, isRequired }) => isRequired && !found.has(path)).map(({ path }) => path),
    notes: needsLocale ? dialect.notes : [],
  }
}

const localized = new Set<ValueType>(["number", "amount", "date", "date-time"])

const columnOf = (name: string, rows: ReadonlyArray<object>): Column => {
  const texts = new Set<string>()
  let isText = true
  for (const row of rows) {
    const value = valueAt(row as Readonly<Record<string, unknown>>, name)
    if (value === undefined || value === null || value === "") continue
    if (typeof value !== "string") isText = false
    texts.add(typeof value === "object" ? JSON.stringify(value) : String(value).trim())
    if (texts.size === mostValues) break
  }
  return { name, texts: [...texts], isText }
}

// The locale of the values

interface Found {
  readonly locale: string | undefined
  readonly notes: ReadonlyArray<string>
}

const foundLocale = (columns: ReadonlyArray<Column>): Found => {
  const texts = columns.flatMap((column) => (column.isText ? column.texts : []))
  const comma = texts.filter((text) => /^[^\d]{0,5}\d[\d. '\u00a0\u202f\u2019]*,(?:\d{1,2}|\d{4,})\D{0,5}$/u.test(text)).length
  const point = texts.filter((text) => /^[^\d]{0,5}\d[\d, '\u00a0\u202f\u2019]*\.(?:\d{1,2}|\d{4,})\D{0,5}$/u.test(text)).length
  const days = texts.flatMap((text) => {
    const [, first, mark, second] = /^(\d{1,2})([./-])(\d{1,2})\2\d{2,4}\b/u.exec(text) ?? []
    return first === undefined || second === undefined ? [] : [{ first: Number(first), second: Number(second), mark }]
  })
  const dayFirst = days.some(({ first, mark }) => first > 12 || mark === ".")
  const monthFirst = days.some(({ second, mark }) => second > 12 && mark !== ".")
  const isOpen = days.length > 0 && !dayFirst && !monthFirst
  if (comma > point) {
    const isFrench = texts.some((text) => /^\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:,\d+)?\D{0,5}$/u.test(text))
    return { locale: isFrench ? "fr-FR" : "de-DE", notes: [] }
  }
  const isSwiss = texts.some((text) => /^\D{0,5}\d{1,3}(?:['\u2019]\d{3})+(?:\.\d+)?\D{0,5}$/u.test(text))
  if (isSwiss) return { locale: "de-CH", notes: [] }
  const notes = isOpen ? ["its dates do not tell whether the day or the month comes first: check the locale"] : []
  if (dayFirst) return { locale: texts.some((text) => /^\d{1,2}\.\d{1,2}\./u.test(text)) && point === 0 ? "de-DE" : "en-GB", notes }
  return { locale: "en-US", notes }
}

// Which column a field is read from

/** Words of the same meaning, in the languages of many files. */
const meanings = [
  "id key nr no number num nummer numéro numero code sku identifier",
  "name title titel bezeichnung nom nombre titre label",
  "price preis cost kosten prix precio amount betrag montant",
  "date datum fecha day tag",
  "email mail courriel",
  "phone telefon tel telephone mobile mobil",
  "city ort stadt ville town ciudad",
  "zip plz postcode postal postleitzahl",
  "street strasse rue calle",
  "country land pays pais",
  "quantity qty menge anzahl stock bestand count",
  "description beschreibung text note notes bemerkung comment kommentar",
  "first vorname given",
  "last nachname surname family",
  "currency wahrung devise moneda",
  "state status zustand",
  "since seit from created erstellt",
  "new neu nouveau",
  "article artikel item product produkt",
  "company firma organisation organization",
  "birth geburt born geboren birthday geburtsdatum",
]

const meaningOf = new Map(meanings.flatMap((words) => words.split(" ").map((word) => [word, words.split(" ")[0] as string] as const)))

/** The shortest word of a compound such as `Artikelnummer`. */
const shortestWord = 3

/** The meanings of a word: of both parts where it is made of two known ones. */
const meaningsOf = (token: string): ReadonlyArray<string> => {
  const known = meaningOf.get(token)
  if (known !== undefined) return [known]
  for (let at = shortestWord; at <= token.length - shortestWord; at++) {
    const [first, second] = [meaningOf.get(token.slice(0, at)), meaningOf.get(token.slice(at))]
    if (first !== undefined && second !== undefined) return [first, second]
  }
  return [token]
}

const tokensIn = (name: string): ReadonlyArray<string> =>
  name
    .replace(/([a-z\d])([A-Z])/g, "$1 $2")
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .replaceAll("ß", "ss")
    .toLowerCase()
    .split(/[^\p{L}\d]+/u)
    .filter((token) => token !== "")

/** How alike two names are, from 0 to 1. */
const likeness = (field: string, column: string): number => {
  if (field === column) return 2
  const [left, right] = [tokensIn(field), tokensIn(column)]
  if (left.length === 0 || right.length === 0) return 0
  if (left.join("") === right.join("")) return 1
  // The last part of a path is its name; the parts before it say whose name.
  const [own, other] = [tokensIn(field.slice(field.lastIndexOf(".") + 1)), right]
  if (own.join("") === other.join("")) return 0.95
  const meaning = (tokens: ReadonlyArray<string>) => new Set(tokens.flatMap(meaningsOf))
  const [first, second] = [meaning(own), meaning(other)]
  const shared = [...first].filter((token) => second.has(token)).length
  const dice = (2 * shared) / (first.size + second.size)
  const isPart = own.join("").length > 3 && other.join("").includes(own.join(""))
  return Math.max(0.9 * dice, isPart ? 0.6 : 0)
}

const leastLikeness = 0.5

const assign = (fields: ReadonlyArray<TargetField>, columns: ReadonlyArray<Column>, marks: LocaleMarks): ReadonlyMap<string, Column> => {
  const candidates = fields.flatMap((field) =>
    columns.flatMap((column) => {
      const score = likeness(field.path, column.name)
      return score < leastLikeness ? [] : [{ field, column, score: score - (fits(field, column, marks) ? 0 : 0.5) }]
    }),
  )
  const found = new Map<string, Column>()
  const used = new Set<string>()
  for (const { field, column, score } of candidates.toSorted((one, other) => other.score - one.score)) {
    if (score < leastLikeness || found.has(field.path) || used.has(column.name)) continue
    found.set(field.path, column)
    used.add(column.name)
  }
  // A required field without a column of its name is read from the only other column with such values.
  for (const field of fields) {
    if (found.has(field.path) || !field.isRequired || field.type === "text" || field.type === "any") {
      if (found.has(field.path) || !field.isRequired || field.choices === undefined) continue
    }
    const fitting = columns.filter((column) => !used.has(column.name) && column.texts.length > 0 && fits(field, column, marks))
    const [only] = fitting
    if (only === undefined || fitting.length > 1) continue
    found.set(field.path, only)
    used.add(only.name)
  }
  // So is the only date, required or not: its values are no others.
  const [date, ...otherDates] = fields.filter(({ path, type }) => type === "date" && !found.has(path))
  const dated = date === undefined ? [] : columns.filter((column) => !used.has(column.name) && hasDates(column, marks))
  if (date !== undefined && otherDates.length === 0 && dated.length === 1 && dated[0] !== undefined) {
    found.set(date.path, dated[0])
    used.add(dated[0].name)
  }
  // The currency of an amount is in its column.
  for (const field of fields) {
    if (found.has(field.path) || meaningOf.get(tokensIn(field.path).at(-1) ?? "") !== "currency") continue
    const money = columns.find((column) => mostly(column, (text) => "value" in currencyOf(text) && "value" in amountOf(text, marks)))
    if (money !== undefined) found.set(field.path, money)
  }
  return found
}

/** Whether at least half of the values can become values of the field. A column without values fits. */
const fits = ({ type, choices }: TargetField, column: Column, marks: LocaleMarks): boolean => {
  if (column.texts.length === 0) return true
  if (choices !== undefined) return mostly(column, (text) => choices.some((choice) => lookupKey(choice) === lookupKey(text)))
  switch (type) {
    case "number":
      return mostly(column, (text) => "value" in numberOf(text, plain) || "value" in amountOf(text, marks))
    case "boolean":
      return mostly(column, isTruthWord)
    case "date":
      return hasDates(column, marks)
    case "text":
    case "list":
    case "any":
      return true
  }
}

const hasDates = (column: Column, marks: LocaleMarks): boolean => mostly(column, (text) => "value" in dateTimeOf(text, marks))

const mostly = ({ texts }: Column, is: (text: string) => boolean): boolean =>
  texts.length > 0 && 2 * texts.filter(is).length >= texts.length

const plain = marksOf(undefined)

// How a field is read from its column

const ruleOf = (field: TargetField, column: Column, marks: LocaleMarks): FieldRule => {
  const rule: FieldRule = { field: field.path, column: column.name }
  const { texts, isText } = column
  const lookup = field.choices === undefined ? undefined : lookupOf(field.choices, texts)
  if (lookup !== undefined) return { ...rule, lookup }
  if (!isText || texts.length === 0) return rule
  const all = (is: (text: string) => boolean) => texts.every(is)
  switch (field.type) {
    case "number":
      if (all((text) => "value" in numberOf(text, plain))) return rule
      return { ...rule, as: mostly(column, (text) => "value" in numberOf(text, marks)) ? "number" : "amount" }
    case "boolean":
      return all((text) => text === "true" || text === "false") || !mostly(column, (text) => "value" in booleanOf(text))
        ? rule
        : { ...rule, as: "boolean" }
    case "date": {
      if (all((text) => "value" in dateTimeOf(text, plain))) return rule
      return { ...rule, as: mostly(column, (text) => "value" in dateOf(text, marks)) ? "date" : "date-time" }
    }
    case "list":
      return { ...rule, as: "list" }
    case "text":
      return isCurrency(field, column, marks) ? { ...rule, as: "currency" } : rule
    case "any":
      return rule
  }
}

const isCurrency = ({ path }: TargetField, column: Column, marks: LocaleMarks): boolean =>
  meaningOf.get(tokensIn(path).at(-1) ?? "") === "currency" &&
  mostly(column, (text) => "value" in currencyOf(text) && "value" in amountOf(text, marks))

/** The choices for texts that are written in another case; undefined where all texts are choices as they are. */
const lookupOf = (choices: ReadonlyArray<string>, texts: ReadonlyArray<string>): Record<string, string> | undefined => {
  if (texts.every((text) => choices.includes(text))) return undefined
  const known = new Map(choices.map((choice) => [lookupKey(choice), choice]))
  return Object.fromEntries(choices.map((choice) => [choice, known.get(lookupKey(choice)) ?? choice]))
}
