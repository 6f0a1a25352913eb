/**
 * Whether a value is written as its datatype demands, and whether it is what the words of the text say. The numbers in a value
 * have to be those in the text: a model may write "2 May 1984" as 1984-05-02, but not as 1985-05-02.
 */

import { vocabularies } from "../../rdf/Vocabulary.ts"

const { xsd } = vocabularies

const integers = new Set(
  [
    "integer",
    "int",
    "long",
    "short",
    "nonNegativeInteger",
    "positiveInteger",
    "unsignedInt",
    "unsignedLong",
    "negativeInteger",
    "nonPositiveInteger",
  ].map((name) => xsd + name),
)
const decimals = new Set(["decimal", "double", "float"].map((name) => xsd + name))
const dates = new Set(["date", "dateTime", "gYear", "gYearMonth"].map((name) => xsd + name))

/** Undefined when the value is not written as the datatype demands, or not what the text says. */
export const lexicalOf = (datatype: string, text: string, written: string): string | undefined => {
  const lexical = written.trim()
  if (integers.has(datatype)) return /^[+-]?\d+$/.test(lexical) && saysNumber(text, lexical) ? lexical : undefined
  if (decimals.has(datatype)) return isDecimal(datatype, lexical) && saysNumber(text, lexical) ? lexical : undefined
  if (dates.has(datatype)) return isDate(datatype, lexical) && saysDate(text, lexical) ? lexical : undefined
  if (datatype === `${xsd}boolean`) return /^(true|false|1|0)$/.test(lexical) ? lexical : undefined
  // Text is the text of the document, whatever a model made of it.
  const plain = text.replace(/\s+/gu, " ").trim()
  if (datatype === `${xsd}anyURI`) return /^\S+$/.test(plain) ? plain : undefined
  return plain
}

const isDecimal = (datatype: string, lexical: string): boolean =>
  datatype === `${xsd}decimal` ? /^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(lexical) : /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(lexical)

const isDate = (datatype: string, lexical: string): boolean => {
  if (datatype === `${xsd}gYear`) return /^-?\d{4,}$/.test(lexical)
  if (datatype === `${xsd}gYearMonth`) return /^-?\d{4,}-(0[1-9]|1[0-2])$/.test(lexical)
  const parts = /^-?(\d{4,})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(lexical)
  if (parts === null || (parts[4] !== undefined) !== (datatype === `${xsd}dateTime`)) return false
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** Words for numbers are left to the model; digits have to be the same, apart from zeros for "million" and the like. */
const saysNumber = (text: string, lexical: string): boolean => {
  const said = westernDigits(text).replace(/\D/g, "").replace(/^0+/, "")
  if (said === "") return !/\p{N}/u.test(text) || /^[+-]?0+(\.0*)?$/.test(lexical)
  const digits = (lexical.split(/[eE]/)[0] ?? "").replace(/\D/g, "").replace(/^0+/, "")
  return digits === said || digits.replace(/0+$/, "") === said.replace(/0+$/, "")
}

/** Every number in the words is one of the value's; a short year stands for the last digits of the long one. */
const saysDate = (text: string, lexical: string): boolean => {
  const said = westernDigits(text).match(/\d+/g)?.map(Number) ?? []
  const numbers = (lexical.match(/\d+/g) ?? []).map(Number)
  const year = numbers[0] ?? 0
  return said.length > 0 && said.every((number) => numbers.includes(number) || number === year % 100)
}

/** ١٩٨٤ and १९८४ are 1984. */
const westernDigits = (text: string): string =>
  text.replace(/\p{Nd}/gu, (digit) => {
    const point = digit.codePointAt(0) ?? 0
    let zero = point
    // Digits of a script stand together, ten in a row.
    while (point - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
    return String((point - zero) % 10)
  })
