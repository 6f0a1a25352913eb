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

/** In the languages that write the day first, "3.4.1998" and "3/4/1998" are the third of April; in others they are no dates. */
export const findDates = (tokens: ReadonlyArray<Token>, language?: string): ReadonlyArray<FoundDate> => {
  const daysFirst = language !== undefined && dayFirst.has(language)
  const found: Array<FoundDate> = []
  for (let at = 0; at < tokens.length; at++) {
    const date =
      isoDate(tokens, at) ??
      (daysFirst ? numericDate(tokens, at) : undefined) ??
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
const numericDate = (tokens: ReadonlyArray<Token>, at: number): FoundDate | undefined => {
  const dotted = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(tokens[at]?.text ?? "")
  if (dotted !== null) return { first: at, last: at, day: Number(dotted[1]), month: Number(dotted[2]), year: Number(dotted[3]) }
  const [day, month] = [tokens[at], tokens[at + 2]].map((token) => (/^\d{1,2}$/.test(token?.text ?? "") ? Number(token?.text) : undefined))
  const year = yearOf(tokens[at + 4])
  const isSlashed = isMark(tokens[at + 1], "/") && isMark(tokens[at + 3], "/")
  if (!isSlashed || day === undefined || month === undefined || year === undefined) return undefined
  return { first: at, last: at + 4, day, month, year }
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

const exists = ({ year, month, day }: FoundDate): boolean => {
  if (month === undefined) return true
  if (month < 1 || month > 12) return false
  return day === undefined || (day >= 1 && day <= daysIn(year, month))
}

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The lexical form of XML Schema. */
export const lexicalDate = ({ year, month, day }: Omit<FoundDate, "first" | "last">): string => {
  const parts = [String(year).padStart(4, "0"), month, day].filter((part) => part !== undefined)
  return parts.map((part) => String(part).padStart(2, "0")).join("-")
}

/** The date, if the whole text is one. */
export const dateOf = (text: string, language?: string): FoundDate | undefined => {
  const tokens = tokenize(text)
  const [date] = findDates(tokens, language)
  return date !== undefined && date.first === 0 && date.last === tokens.length - 1 ? date : undefined
}
