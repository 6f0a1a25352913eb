/**
 * How the expected facts write dates. A text says "May 2, 1984", an extractor knows it as 1984-05-02, and a list of expected
 * facts may have it as "02 May 1984": what is compared is written the way the training examples write theirs.
 */
import type { Example } from "../src/extract/builtin/Example.ts"
import type { FactObject } from "../src/fact/Fact.ts"
import { xsd } from "../src/rdf/Vocabulary.ts"
import { dateOf } from "../src/text/Dates.ts"

type Value = Extract<FactObject, { readonly _tag: "Value" }>

export type Notation = (value: Value) => string

interface Date {
  readonly year: number
  readonly month: number | undefined
  readonly day: number | undefined
}

const monthName = (month: number): string =>
  new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" }).format(month * 2_678_400_000 - 1_300_000_000)

const two = (number: number): string => String(number).padStart(2, "0")

const styles: ReadonlyArray<(date: Required<{ year: number; month: number; day: number }>) => string> = [
  ({ year, month, day }) => `${year}-${two(month)}-${two(day)}`,
  ({ year, month, day }) => `${two(day)} ${monthName(month)} ${year}`,
  ({ year, month, day }) => `${day} ${monthName(month)} ${year}`,
  ({ year, month, day }) => `${monthName(month)} ${day}, ${year}`,
]

/** The style most of the examples' dates are in; as in the text, where there are none. */
export const notationOf = (examples: ReadonlyArray<Example>): Notation => {
  const objects = examples.flatMap(({ triples }) => triples.map(({ obj }) => obj.trim()))
  const dates = objects.flatMap((text) => {
    const date = dateOf(text)
    return date === undefined ? [] : [{ text, date }]
  })
  const whole = dates.filter(({ date }) => date.day !== undefined)
  if (whole.length === 0) return (value) => value.text
  const uses = styles.map((style) => whole.filter(({ text, date }) => style(filled(date)) === text).length)
  const style = styles[uses.indexOf(Math.max(...uses))] ?? ((date) => `${date.year}`)
  // Where all dates are whole, a year alone has been filled up with the first of January.
  const fills = whole.length === dates.length
  return (value) => {
    const date = readDate(value)
    if (date === undefined) return value.text
    return date.day === undefined && !fills ? value.text : style(filled(date))
  }
}

const filled = ({ year, month, day }: Date) => ({ year, month: month ?? 1, day: day ?? 1 })

const dateTypes: ReadonlySet<string> = new Set([xsd.date, xsd.dateTime, xsd.gYear, xsd.gYearMonth])

const readDate = ({ datatype, lexical }: Value): Date | undefined => {
  const match = dateTypes.has(datatype) ? /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?/.exec(lexical) : null
  if (match === null) return undefined
  const part = (text: string | undefined) => (text === undefined ? undefined : Number(text))
  return { year: Number(match[1]), month: part(match[2]), day: part(match[3]) }
}
