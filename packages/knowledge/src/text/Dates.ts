/**
 * Finds dates in text, each with its value: a day, a month or a year. Month names come from `Intl`, so that they are known in
 * several languages.
 */
import { type Token, tokenize } from "./Words.ts"

export interface FoundDate {
  /** The first and last token. */
  readonly first: number
  readonly last: number
  readonly year: number
  readonly month: number | undefined
  readonly day: number | undefined
}

type WrittenDate = Omit<FoundDate, "first" | "last">

const languages = ["en", "de", "fr", "es", "it", "pt", "nl"]

const months: ReadonlyMap<string, number> = new Map(
  languages
    .flatMap((language) =>
      (["long", "short"] as const).flatMap((width) => {
        const format = new Intl.DateTimeFormat(language, { month: width, timeZone: "UTC" })
        return Array.from({ length: 12 }, (_, index) => {
          const name = format
            .format(Date.UTC(2001, index, 15))
            .toLowerCase()
            .replace(/\.$/, "")
          return [name, index + 1] as const
        })
      }),
    )
    .concat([
      // The Austrian names.
      ["jänner", 1],
      ["feber", 2],
    ]),
)

/** "may" and "mar" are also other words, so a month of three letters without a day before it needs a capital. */
const monthOf = (token: Token | undefined): number | undefined => {
  if (token === undefined || token.kind !== "word") return undefined
  const found = namedMonth(token)
  return found !== undefined && /^\p{Lu}/u.test(token.text) ? found : found !== undefined && token.text.length > 3 ? found : undefined
}

const namedMonth = (token: Token | undefined): number | undefined =>
  token?.kind === "word" ? months.get(token.text.toLowerCase().replace(/\.$/, "")) : undefined

const yearOf = (token: Token | undefined): number | undefined =>
  token !== undefined && /^(?:1[0-9]|20)\d\d$/.test(token.text) ? Number(token.text) : undefined

const dayOf = (token: Token | undefined): number | undefined => {
  const found = token === undefined ? null : /^(\d{1,2})(?:st|nd|rd|th|er|º|°)?$/.exec(token.text)
  const day = found === null ? 0 : Number(found[1])
  return day >= 1 && day <= 31 ? day : undefined
}

const isMark = (token: Token | undefined, mark: string): boolean => token?.text === mark

/**
 * In the languages that write the day first, "3.4.1998" and "3/4/1998" are the third of April; in others they are no dates. "25/4/1998",
 * "4/25/1998" and "1998/4/25" are dates in every language.
 */
export const findDates = (tokens: ReadonlyArray<Token>, language?: string): ReadonlyArray<FoundDate> => {
  const daysFirst = language !== undefined && dayFirst.has(language)
  const found: Array<FoundDate> = []
  for (let at = 0; at < tokens.length; at++) {
    const date =
      isoDate(tokens, at) ??
      numericDate(tokens, at, daysFirst) ??
      dayMonthYear(tokens, at) ??
      monthDayYear(tokens, at) ??
      monthYear(tokens, at) ??
      yearAlone(tokens, at)
    if (date === undefined || !exists(date)) continue
    found.push(date)
    at = date.last
  }
  return found
}

const isoDate = (tokens: ReadonlyArray<Token>, at: number): FoundDate | undefined => {
  const match = /^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(tokens[at]?.text ?? "")
  if (match === null) return undefined
  return {
    first: at,
    last: at,
    year: Number(match[1]),
    month: Number(match[2]),
    day: match[3] === undefined ? undefined : Number(match[3]),
  }
}

const dayFirst: ReadonlySet<string> = new Set(["de", "fr", "es"])

/** "03.04.1998" is one token, "03/04/1998" are five. */
const numericDate = (tokens: ReadonlyArray<Token>, at: number, daysFirst: boolean): FoundDate | undefined => {
  const dotted = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(tokens[at]?.text ?? "")
  if (dotted !== null) {
    const date = dayAndMonth(Number(dotted[1]), Number(dotted[2]), daysFirst)
    return date === undefined ? undefined : { first: at, last: at, year: Number(dotted[3]), ...date }
  }
  const mark = tokens[at + 1]?.text
  const middle = upToTwoDigits(tokens[at + 2])
  if ((mark !== "/" && mark !== "-") || !isMark(tokens[at + 3], mark) || middle === undefined) return undefined
  const [opening, closing] = [upToTwoDigits(tokens[at]), upToTwoDigits(tokens[at + 4])]
  const [yearBefore, yearAfter] = [yearOf(tokens[at]), yearOf(tokens[at + 4])]
  if (yearBefore !== undefined && closing !== undefined) return { first: at, last: at + 4, year: yearBefore, month: middle, day: closing }
  if (opening === undefined || yearAfter === undefined) return undefined
  const date = dayAndMonth(opening, middle, daysFirst && mark === "/")
  return date === undefined ? undefined : { first: at, last: at + 4, year: yearAfter, ...date }
}

const upToTwoDigits = (token: Token | undefined): number | undefined =>
  token !== undefined && /^\d{1,2}$/.test(token.text) ? Number(token.text) : undefined

/** Which of two numbers is the day and which the month; undefined if both could be either. */
const dayAndMonth = (one: number, other: number, daysFirst: boolean): { readonly day: number; readonly month: number } | undefined => {
  if (one === other || (one > 12 && other <= 12) || (daysFirst && other <= 12)) return { day: one, month: other }
  return one <= 12 && other > 12 ? { day: other, month: one } : undefined
}

const dayMonthYear = (tokens: ReadonlyArray<Token>, at: number): FoundDate | undefined => {
  const day = dayOf(tokens[at])
  if (day === undefined) return undefined
  // "2. Mai 1984", "2 de mayo de 1984", "1er mai 1984": between a day and a year, a month needs no capital.
  let next = at + 1
  if (isMark(tokens[next], ".") || tokens[next]?.text === "de" || tokens[next]?.text === "of") next++
  const month = namedMonth(tokens[next])
  if (month === undefined) return undefined
  next++
  if (isMark(tokens[next], ",") || isMark(tokens[next], ".") || /^del?$/.test(tokens[next]?.text ?? "")) next++
  const year = yearOf(tokens[next])
  return year === undefined ? undefined : { first: at, last: next, year, month, day }
}

const monthDayYear = (tokens: ReadonlyArray<Token>, at: number): FoundDate | undefined => {
  const month = monthOf(tokens[at])
  if (month === undefined) return undefined
  const dayAt = isMark(tokens[at + 1], ".") ? at + 2 : at + 1
  const day = dayOf(tokens[dayAt])
  if (day === undefined) return undefined
  const yearAt = isMark(tokens[dayAt + 1], ",") ? dayAt + 2 : dayAt + 1
  const year = yearOf(tokens[yearAt])
  return year === undefined ? undefined : { first: at, last: yearAt, year, month, day }
}

const monthYear = (tokens: ReadonlyArray<Token>, at: number): FoundDate | undefined => {
  const month = monthOf(tokens[at])
  if (month === undefined) return undefined
  const yearAt = isMark(tokens[at + 1], ",") || isMark(tokens[at + 1], ".") || tokens[at + 1]?.text === "de" ? at + 2 : at + 1
  const year = yearOf(tokens[yearAt])
  return year === undefined ? undefined : { first: at, last: yearAt, year, month, day: undefined }
}

const yearAlone = (tokens: ReadonlyArray<Token>, at: number): FoundDate | undefined => {
  const year = yearOf(tokens[at])
  return year === undefined ? undefined : { first: at, last: at, year, month: undefined, day: undefined }
}

const exists = ({ year, month, day }: WrittenDate): boolean => {
  if (month === undefined) return true
  if (month < 1 || month > 12) return false
  return day === undefined || (day >= 1 && day <= daysIn(year, month))
}

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The lexical form of XML Schema. */
export const lexicalDate = ({ year, month, day }: WrittenDate): string => {
  const parts = [String(year).padStart(4, "0"), month, day].filter((part) => part !== undefined)
  return parts.map((part) => String(part).padStart(2, "0")).join("-")
}

/** The date, if the whole text is one. The time of "2001-05-03T12:00:00Z" is ignored. */
export const dateOf = (text: string, language?: string): FoundDate | undefined => {
  const tokens = tokenize(text)
  const [date] = findDates(tokens, language)
  if (date !== undefined && date.first === 0 && date.last === tokens.length - 1) return date
  const written = dateWithTime(text.trim()) ?? hyphenated(text.trim())
  return written === undefined || !exists(written) ? undefined : { ...written, first: 0, last: tokens.length - 1 }
}

/** A date with a time, in the form of ISO 8601. */
const timed = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d:\d\d)(?::(\d\d(?:\.\d{1,9})?))? ?(Z|UTC|[+-]\d\d:?\d\d)?$/i

const dateWithTime = (text: string): WrittenDate | undefined => {
  const match = timed.exec(text)
  return match === null ? undefined : { year: Number(match[1]), month: Number(match[2]), day: Number(match[3]) }
}

/** The lexical form of `xsd:dateTime`, if the whole text is a date with a time. */
export const lexicalDateTime = (text: string): string | undefined => {
  const trimmed = text.trim()
  const date = dateWithTime(trimmed)
  const match = timed.exec(trimmed)
  if (date === undefined || match === null || !exists(date)) return undefined
  const [, , , , time = "", seconds = "00", zone = ""] = match
  if (!/^(?:[01]\d|2[0-3]):[0-5]\d$/.test(time) || !/^[0-5]/.test(seconds)) return undefined
  const shift = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(-2)}` : zone === "" ? "" : "Z"
  return `${lexicalDate(date)}T${time}:${seconds}${shift}`
}

/** "3-May-2001" */
const hyphenated = (text: string): WrittenDate | undefined => {
  const match = /^(\d{1,2})-(\p{L}{3,12})\.?-((?:1\d|20)\d\d)$/u.exec(text)
  const month = months.get(match?.[2]?.toLowerCase() ?? "")
  return match === null || month === undefined ? undefined : { year: Number(match[3]), month, day: Number(match[1]) }
}
