/** How a locale writes numbers and days, from `Intl`. */

export interface LocaleMarks {
  readonly tag: string
  /** The mark before decimals. */
  readonly decimal: string
  /** The mark between groups of digits; undefined where none is accepted. */
  readonly group: string | undefined
  /** The digits of a group before the last, which has three: two in India. */
  readonly groupDigits: number
  /** The order of day, month and year; undefined where only ISO 8601 is accepted. */
  readonly order: ReadonlyArray<DatePart> | undefined
  /** Numbers of months by their names, long and short, in lower case without a point. */
  readonly months: () => ReadonlyMap<string, number>
}

export type DatePart = "day" | "month" | "year"

const noMonths: ReadonlyMap<string, number> = new Map()

/** Without a locale: numbers such as `1234.5`, days as ISO 8601. */
const neutral: LocaleMarks = { tag: "", decimal: ".", group: undefined, groupDigits: 3, order: undefined, months: () => noMonths }

export const isLocale = (tag: string): boolean => {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(tag).length === 1
  } catch {
    // A malformed tag throws.
    return false
  }
}

/** Spaces between groups of digits are of many kinds. */
export const isSpace = (character: string): boolean => /^[\s\u00a0\u202f\u2009]$/u.test(character)

/** Apostrophes between groups of digits, such as in Switzerland. */
export const isApostrophe = (character: string): boolean => character === "'" || character === "\u2019"

/** The marks of a locale. Throws a RangeError for one that does not exist. */
export const marksOf = (tag: string | undefined): LocaleMarks => {
  if (tag === undefined) return neutral
  const numbers = new Intl.NumberFormat(tag, { useGrouping: true, numberingSystem: "latn" }).formatToParts(1_234_567.5)
  const valueOf = (type: string) => numbers.find((part) => part.type === type)?.value
  const days = new Intl.DateTimeFormat(tag, { year: "numeric", month: "numeric", day: "numeric", calendar: "gregory", timeZone: "UTC" })
  const order = days.formatToParts(0).flatMap(({ type }) => (type === "day" || type === "month" || type === "year" ? [type] : []))
  const groupDigits = numbers.filter(({ type }) => type === "integer").at(-2)?.value.length ?? 3
  let months: ReadonlyMap<string, number> | undefined
  return {
    tag,
    decimal: valueOf("decimal") ?? ".",
    group: valueOf("group"),
    groupDigits,
    order,
    months: () => {
      months ??= monthsOf(tag)
      return months
    },
  }
}

const dayMillis = 86_400_000

/** From the middle of each month of 1970. Also the English names, which files of all countries have. */
const monthsOf = (tag: string): ReadonlyMap<string, number> => {
  const months = new Map<string, number>()
  for (const locale of ["en", tag])
    for (const month of ["short", "long"] as const)
      for (const shape of [{ month }, { month, day: "numeric" }] as const) {
        const names = new Intl.DateTimeFormat(locale, { ...shape, calendar: "gregory", timeZone: "UTC" })
        for (let number = 1; number <= 12; number++) {
          const part = names.formatToParts(Math.round((number - 0.5) * 30.4) * dayMillis).find(({ type }) => type === "month")
          if (part !== undefined) months.set(monthKey(part.value), number)
        }
      }
  return months
}

export const monthKey = (name: string): string => name.toLowerCase().replaceAll(".", "")
