/** What a stretch of text is worth as a value: its datatype and its lexical form, if the property takes it. */

import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { rdf, rdfs, xsd } from "../../rdf/Vocabulary.ts"
import { findDates, lexicalDate } from "../language/Dates.ts"
import { readNumber } from "../language/Numbers.ts"
import { tokenize } from "../language/Words.ts"

export interface Value {
  readonly datatype: string
  readonly lexical: string
}

/** The first of the property's datatypes that the text can be read as; for a property that names none, what it looks like. */
export const valueOf = (ontology: OntologyIndex, property: string, text: string, language?: string): Value | undefined => {
  const datatypes = ontology.datatypesOf(property)
  if (datatypes.length === 0) return byAppearance(text, language)
  for (const datatype of datatypes) {
    const lexical = lexicalOf(datatype, text, language)
    const written = concrete(datatype, language)
    if (lexical !== undefined && ontology.acceptsValue(property, written)) return { datatype: written, lexical }
  }
  return undefined
}

/** `rdfs:Literal` is any literal; written down, it has to be one in particular. Text in a language needs one. */
const concrete = (datatype: string, language: string | undefined): string =>
  datatype === rdfs.literal || (datatype === rdf.langString && language === undefined) ? xsd.string : datatype

const byAppearance = (text: string, language: string | undefined): Value => {
  const date = dateIn(text, language)
  if (date !== undefined) {
    const datatype = date.day !== undefined ? xsd.date : date.month !== undefined ? xsd.gYearMonth : xsd.gYear
    return { datatype, lexical: lexicalDate(date) }
  }
  const number = isNumber(text) ? readNumber(text, language) : undefined
  if (number !== undefined) return { datatype: number.whole ? xsd.integer : xsd.decimal, lexical: number.lexical }
  return { datatype: xsd.string, lexical: text }
}

const isNumber = (text: string): boolean => /^[$€£¥₹+-]?\s?\d[\d.,\s]*(?:hundred|thousand|million|billion|trillion|%)?$/i.test(text.trim())

const lexicalOf = (datatype: string, text: string, language: string | undefined): string | undefined => {
  const reader = readers[datatype]
  if (reader !== undefined) return reader(text, language)
  if (wholeTypes.test(datatype)) {
    const number = readNumber(text, language)
    return number?.whole ? number.lexical : undefined
  }
  return text
}

const wholeTypes = /#(?:int|long|short|byte|nonNegativeInteger|positiveInteger|unsigned(?:Int|Long|Short|Byte))$/

const readers: Readonly<Record<string, (text: string, language: string | undefined) => string | undefined>> = {
  [xsd.date]: (text, language) => {
    const date = dateIn(text, language)
    return date?.day === undefined ? undefined : lexicalDate(date)
  },
  [xsd.dateTime]: (text, language) => {
    const date = dateIn(text, language)
    return date?.day === undefined ? undefined : `${lexicalDate(date)}T00:00:00Z`
  },
  [xsd.gYearMonth]: (text, language) => {
    const date = dateIn(text, language)
    return date?.month === undefined ? undefined : lexicalDate({ ...date, day: undefined })
  },
  [xsd.gYear]: (text, language) => {
    const date = dateIn(text, language)
    return date === undefined ? undefined : lexicalDate({ year: date.year, month: undefined, day: undefined })
  },
  [xsd.integer]: (text, language) => {
    const number = readNumber(text, language)
    return number?.whole ? number.lexical : undefined
  },
  [xsd.decimal]: (text, language) => readNumber(text, language)?.lexical,
  [xsd.double]: (text, language) => readNumber(text, language)?.lexical,
  [xsd.float]: (text, language) => readNumber(text, language)?.lexical,
  [xsd.boolean]: (text) => booleans[text.trim().toLowerCase()],
  [xsd.anyUri]: (text) => (/^[a-z][a-z0-9+.-]*:\S+$/i.test(text.trim()) ? text.trim() : undefined),
}

const booleans: Readonly<Record<string, string>> = Object.fromEntries([
  ..."true yes 1 ja wahr oui vrai sí si verdadero".split(" ").map((word) => [word, "true"]),
  ..."false no 0 nein falsch non faux falso".split(" ").map((word) => [word, "false"]),
])

/** The date a text consists of. */
const dateIn = (text: string, language: string | undefined) => {
  const tokens = tokenize(text)
  const [date] = findDates(tokens, language)
  return date !== undefined && date.first === 0 && date.last === tokens.length - 1 ? date : undefined
}
