/** Values of the texts of cells: numbers, amounts of money, truth values, days and times. Each takes linear time. */
import { type DatePart, isApostrophe, isSpace, type LocaleMarks, marksOf, monthKey } from "./Locale.ts"

/** A value, or why the text has none. */
export type Coerced = { readonly value: unknown } | { readonly problem: string }

/** How much of a text a problem quotes. */
const quotedLength = 60

export const quoted = (text: string): string => JSON.stringify(text.length > quotedLength ? `${text.slice(0, quotedLength)}…` : text)

const refused = (text: string, what: string, { tag }: LocaleMarks, example: string): Coerced => ({
  problem:
    tag === ""
      ? `${quoted(text)} is no ${what} such as ${example}; give the locale that wrote it`
      : `${quoted(text)} is no ${what} in ${tag}`,
})

// Numbers

/** Longer numbers are texts by mistake. */
const longestNumber = 400

const digits = "0123456789"
const isDigit = (character: string | undefined): boolean => character !== undefined && character !== "" && digits.includes(character)

/** The number as JavaScript writes it, such as `-1234.5`; undefined where the text is none. */
const plainNumber = (given: string, marks: LocaleMarks): string | undefined => {
  const { decimal } = marks
  let text = given.trim()
  if (text === "" || text.length > longestNumber) return undefined
  let isNegative = false
  if (text.startsWith("(") && text.endsWith(")")) {
    isNegative = true
    text = text.slice(1, -1).trim()
  }
  const sign = text[0]
  if (sign === "+" || sign === "-" || sign === "\u2212") {
    if (isNegative) return undefined
    isNegative = sign !== "+"
    text = text.slice(1).trimStart()
  } else if (text.endsWith("-")) {
    if (isNegative) return undefined
    isNegative = true
    text = text.slice(0, -1).trimEnd()
  }
  const [, mantissa = "", power = ""] = /^([^eE]*)([eE][-+]?\d{1,3})?$/u.exec(text) ?? []
  const at = mantissa.lastIndexOf(decimal)
  const decimals = at < 0 ? "" : mantissa.slice(at + 1)
  const whole = joinedGroups(at < 0 ? mantissa : mantissa.slice(0, at), marks)
  if (whole === undefined || (whole === "" && decimals === "") || !/^\d*$/u.test(decimals)) return undefined
  return `${isNegative ? "-" : ""}${whole === "" ? "0" : whole}${decimals === "" ? "" : `.${decimals}`}${power}`
}

/** The digits of groups; undefined where they are none. */
const joinedGroups = (whole: string, { group, groupDigits }: LocaleMarks): string | undefined => {
  let joined = ""
  let sinceMark = 0
  let marks = 0
  for (const character of whole) {
    if (isDigit(character)) {
      joined += character
      sinceMark++
      continue
    }
    if (group === undefined || !isMark(character, group)) return undefined
    if (sinceMark === 0 || sinceMark > groupDigits || (marks > 0 && sinceMark < groupDigits)) return undefined
    marks++
    sinceMark = 0
  }
  return marks > 0 && sinceMark !== 3 ? undefined : joined
}

/** Spaces and apostrophes group digits in any locale: they are nothing else. */
const isMark = (character: string, group: string): boolean => character === group || isSpace(character) || isApostrophe(character)

/** A whole number that would lose digits stays a text. */
const exact = (plain: string): unknown => {
  const number = Number(plain)
  return Number.isSafeInteger(number) || !/^-?\d+$/u.test(plain) ? number : plain
}

export const numberOf = (text: string, marks: LocaleMarks): Coerced => {
  const plain = plainNumber(text, marks)
  if (plain !== undefined && Number.isFinite(Number(plain))) return { value: exact(plain) }
  if (moneyOf(text).currency !== undefined) return { problem: `${quoted(text)} has a currency; read it as an amount` }
  return refused(text, "number", marks, "1234.5")
}

// Money

const currencyCodes = new Set(Intl.supportedValuesOf("currency"))

const currencySigns: Readonly<Record<string, string>> = {
  "€": "EUR",
  $: "USD",
  us$: "USD",
  "£": "GBP",
  "¥": "JPY",
  "₹": "INR",
  "₽": "RUB",
  "₩": "KRW",
  "₺": "TRY",
  "₴": "UAH",
  "₪": "ILS",
  "₫": "VND",
  "฿": "THB",
  zł: "PLN",
  kč: "CZK",
  fr: "CHF",
  "fr.": "CHF",
  sfr: "CHF",
  kr: "SEK",
  "kr.": "DKK",
  ft: "HUF",
  r$: "BRL",
  c$: "CAD",
  a$: "AUD",
  euro: "EUR",
}

const currencyOfSign = (sign: string): string | undefined => {
  const code = sign.toUpperCase()
  return currencyCodes.has(code) ? code : Object.hasOwn(currencySigns, sign.toLowerCase()) ? currencySigns[sign.toLowerCase()] : undefined
}

/** The currency at the start or end of a text, and the rest. */
const moneyOf = (given: string): { readonly currency: string | undefined; readonly amount: string } => {
  const text = given.trim()
  const isPart = (character: string | undefined) =>
    character !== undefined && !isDigit(character) && !isSpace(character) && !"+-\u2212(),".includes(character)
  let start = 0
  // A minus may stand before the sign.
  const isNegative = text.startsWith("-") || text.startsWith("\u2212")
  if (isNegative) start = 1
  let end = start
  while (end < text.length && end - start < 8 && isPart(text[end])) end++
  const front = text.slice(start, end)
  const before = front === "" ? undefined : currencyOfSign(front)
  if (before !== undefined) return { currency: before, amount: `${isNegative ? "-" : ""}${text.slice(end).trim()}` }
  let from = text.length
  while (from > 0 && text.length - from < 8 && isPart(text[from - 1])) from--
  const back = text.slice(from)
  const behind = back === "" ? undefined : currencyOfSign(back)
  return behind === undefined ? { currency: undefined, amount: text } : { currency: behind, amount: text.slice(0, from).trim() }
}

/** `12,-` and `12,--` are whole amounts. */
const withoutDashes = (amount: string): string => amount.replace(/[.,](?:-{1,2}|\u2013|\u2014)$/u, "")

export const amountOf = (text: string, marks: LocaleMarks): Coerced => {
  const plain = plainNumber(withoutDashes(moneyOf(text).amount), marks)
  return plain === undefined || !Number.isFinite(Number(plain)) ? refused(text, "amount", marks, "12.50 EUR") : { value: exact(plain) }
}

export const currencyOf = (text: string): Coerced => {
  const currency = currencyOfSign(text.trim()) ?? moneyOf(text).currency
  return currency === undefined ? { problem: `${quoted(text)} has no currency, such as EUR or $` } : { value: currency }
}

// Truth values

const words = (text: string): ReadonlyArray<string> => text.split(" ")

const truths = new Map<string, boolean>([
  ...words("true t yes y on 1 x ✓ ✔ ja j wahr oui o vrai sí si s verdadero vero sim verdadeiro tak prawda ano igen evet да").map(
    (word) => [word, true] as const,
  ),
  ...words("false f no n off 0 - ✗ ✘ nein falsch non faux falso não nao nie fałsz ne nem hayır нет").map((word) => [word, false] as const),
])

export const booleanOf = (text: string): Coerced => {
  const value = truths.get(text.trim().toLowerCase())
  return value === undefined ? { problem: `${quoted(text)} is neither yes nor no` } : { value }
}

export const isTruthWord = (text: string): boolean => truths.has(text.trim().toLowerCase())

// Days and times

const two = (number: number): string => String(number).padStart(2, "0")

/** Years of two digits are from 1950 to 2049. */
const fullYear = (text: string): number => (text.length > 2 ? Number(text) : Number(text) < 50 ? 2000 + Number(text) : 1900 + Number(text))

const isDay = (year: number, month: number, day: number): boolean => {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1) return false
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return day <= [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]!
}

const dayText = (year: number, month: number, day: number): string | undefined =>
  isDay(year, month, day) ? `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}` : undefined

/** Longer texts are no days. */
const longestDate = 60

/** The day as ISO 8601; undefined where the text is none. */
const dayOf = (given: string, marks: LocaleMarks): string | undefined => {
  const { order } = marks
  const text = given.trim()
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/u.exec(text)
  if (iso !== null) return dayText(Number(iso[1]), Number(iso[2]), Number(iso[3]))
  if (order === undefined) return undefined
  const parts = text.split(/[\s./,-]+/u).filter((part) => part !== "")
  const isNumeric = parts.every((part) => /^\d{1,4}$/u.test(part))
  if (!isNumeric) {
    const months = marks.months()
    const named = parts.findIndex((part) => months.has(monthKey(part)))
    const month = months.get(monthKey(parts[named] ?? ""))
    return month === undefined ? undefined : namedDay(parts, named, month)
  }
  if (parts.length !== 3) return undefined
  // A year of four digits in front is ISO in other marks.
  const places: ReadonlyArray<DatePart> = parts[0]?.length === 4 ? ["year", "month", "day"] : order
  const of = (part: DatePart): string => parts[places.indexOf(part)] ?? ""
  if (of("month").length > 2 || of("day").length > 2 || of("year").length === 3 || of("year").length === 1) return undefined
  return dayText(fullYear(of("year")), Number(of("month")), Number(of("day")))
}

/** A day with the name of its month, such as `3. März 2026` or `March 3rd, 2026`. Names of weekdays and the like are passed over. */
const namedDay = (parts: ReadonlyArray<string>, named: number, month: number): string | undefined => {
  const numbers = parts.flatMap((part, index) => {
    const [, number] = /^(\d{1,4})(?:st|nd|rd|th|er)?$/iu.exec(part) ?? []
    return index === named || number === undefined ? [] : [number]
  })
  const [first = "", second = ""] = numbers
  if (numbers.length !== 2) return undefined
  return first.length > 2 ? dayText(fullYear(first), month, Number(second)) : dayText(fullYear(second), month, Number(first))
}

/** The time of day as ISO 8601; undefined where the text is none. */
const timeOf = (given: string): string | undefined => {
  const [, hours = "", minutes = "", seconds = "00", fraction = "", half = ""] =
    /^(\d{1,2})[:.h](\d{2})(?:[:.](\d{2})([.,]\d{1,9})?)?\s?(am|pm|a\.m\.|p\.m\.|uhr)?$/iu.exec(given.trim()) ?? []
  if (hours === "") return undefined
  const isHalf = /^[ap]/iu.test(half)
  const hour = isHalf ? (Number(hours) % 12) + (/^p/iu.test(half) ? 12 : 0) : Number(hours)
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 59 || (isHalf && (Number(hours) > 12 || hours === "0"))) return undefined
  return `${two(hour)}:${minutes}:${seconds}${fraction.replace(",", ".")}`
}

const isoDateTime = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:?\d{2})?$/u

/** Day and time; a day alone has no time. */
const momentOf = (given: string, marks: LocaleMarks): { readonly day: string; readonly time: string | undefined } | undefined => {
  const text = given.trim()
  if (text.length > longestDate) return undefined
  const [, isoDay, isoTime, zone = ""] = isoDateTime.exec(text) ?? []
  if (isoDay !== undefined && isoTime !== undefined) {
    const day = dayOf(isoDay, marks)
    const time = timeOf(isoTime)
    return day === undefined || time === undefined ? undefined : { day, time: `${time}${zone}` }
  }
  const alone = dayOf(text, marks)
  if (alone !== undefined) return { day: alone, time: undefined }
  // The time is behind the last space before its first colon.
  const colon = text.indexOf(":")
  const space = text.lastIndexOf(" ", colon)
  if (colon < 0 || space < 0) return undefined
  const day = dayOf(text.slice(0, space).replace(/,$/u, ""), marks)
  const time = timeOf(text.slice(space + 1))
  return day === undefined || time === undefined ? undefined : { day, time }
}

export const dateOf = (text: string, marks: LocaleMarks): Coerced => {
  const moment = momentOf(text, marks)
  if (moment === undefined) return refused(text, "date", marks, "2026-01-31")
  const isMidnight = moment.time === undefined || /^00:00:00(?:\.0+)?(?:Z|[+-].*)?$/u.test(moment.time)
  return isMidnight ? { value: moment.day } : { problem: `${quoted(text)} has a time of day; read it as a date-time` }
}

export const dateTimeOf = (text: string, marks: LocaleMarks): Coerced => {
  const moment = momentOf(text, marks)
  return moment === undefined
    ? refused(text, "date-time", marks, "2026-01-31T18:00:00")
    : { value: `${moment.day}T${moment.time ?? "00:00:00"}` }
}

/** Why a text is no day and no time as ISO 8601 writes them, such as `2026-01-31`; undefined where it is one. */
export const isoDateProblem = (text: string): string | undefined => {
  const read = dateTimeOf(text, marksOf(undefined))
  return "problem" in read ? read.problem : undefined
}

// Lists and JSON

export const listOf = (text: string, separator: string | undefined): Coerced => ({
  value: (separator === undefined ? text.split(/[,;]/u) : text.split(separator)).map((one) => one.trim()).filter((one) => one !== ""),
})

export const jsonOf = (text: string): Coerced => {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: `${quoted(text)} is no JSON` }
  }
}
