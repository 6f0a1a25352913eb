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
export const valueOf = (ontology: OntologyIndex, property: string, text: string): Value | undefined => {
  const datatypes = ontology.datatypesOf(property)
  if (datatypes.length === 0) return byAppearance(text)
  for (const datatype of datatypes) {
    const lexical = lexicalOf(datatype, text)
    if (lexical !== undefined && ontology.acceptsValue(property, concrete(datatype))) return { datatype: concrete(datatype), lexical }
  }
  return undefined
}

/** `rdfs:Literal` is any literal; written down, it has to be one in particular. */
const concrete = (datatype: string): string => (datatype === rdfs.literal || datatype === rdf.langString ? xsd.string : datatype)

const byAppearance = (text: string): Value => {
  const date = dateIn(text)
  if (date !== undefined) {
    const datatype = date.day !== undefined ? xsd.date : date.month !== undefined ? xsd.gYearMonth : xsd.gYear
    return { datatype, lexical: lexicalDate(date) }
  }
  const number = isNumber(text) ? readNumber(text) : undefined
  if (number !== undefined) return { datatype: number.whole ? xsd.integer : xsd.decimal, lexical: number.lexical }
  return { datatype: xsd.string, lexical: text }
}

const isNumber = (text: string): boolean => /^[$€£¥₹+-]?\s?\d[\d.,\s]*(?:hundred|thousand|million|billion|trillion|%)?$/i.test(text.trim())

const lexicalOf = (datatype: string, text: string): string | undefined => {
  const reader = readers[datatype]
  if (reader !== undefined) return reader(text)
  if (wholeTypes.test(datatype)) {
    const number = readNumber(text)
    return number?.whole ? number.lexical : undefined
  }
  return text
}

const wholeTypes = /#(?:int|long|short|byte|nonNegativeInteger|positiveInteger|unsigned(?:Int|Long|Short|Byte))$/

const readers: Readonly<Record<string, (text: string) => string | undefined>> = {
  [xsd.date]: (text) => {
    const date = dateIn(text)
    return date?.day === undefined ? undefined : lexicalDate(date)
  },
  [xsd.dateTime]: (text) => {
    const date = dateIn(text)
    return date?.day === undefined ? undefined : `${lexicalDate(date)}T00:00:00Z`
  },
  [xsd.gYearMonth]: (text) => {
    const date = dateIn(text)
    return date?.month === undefined ? undefined : lexicalDate({ ...date, day: undefined })
  },
  [xsd.gYear]: (text) => {
    const date = dateIn(text)
    return date === undefined ? undefined : lexicalDate({ year: date.year, month: undefined, day: undefined })
  },
  [xsd.integer]: (text) => {
    const number = readNumber(text)
    return number?.whole ? number.lexical : undefined
  },
  [xsd.decimal]: (text) => readNumber(text)?.lexical,
  [xsd.double]: (text) => readNumber(text)?.lexical,
  [xsd.float]: (text) => readNumber(text)?.lexical,
  [xsd.boolean]: (text) => booleans[text.trim().toLowerCase()],
  [xsd.anyUri]: (text) => (/^[a-z][a-z0-9+.-]*:\S+$/i.test(text.trim()) ? text.trim() : undefined),
}

const booleans: Readonly<Record<string, string>> = { true: "true", yes: "true", false: "false", no: "false", "1": "true", "0": "false" }

/** The date a text consists of. */
const dateIn = (text: string) => {
  const tokens = tokenize(text)
  const [date] = findDates(tokens)
  return date !== undefined && date.first === 0 && date.last === tokens.length - 1 ? date : undefined
}
