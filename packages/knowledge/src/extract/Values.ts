/** The value of a span of text: its datatype and its lexical form, if the property accepts it. */

import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { rdf, rdfs, xsd } from "../rdf/Vocabulary.ts"
import { dateOf, lexicalDate, lexicalDateTime } from "../text/Dates.ts"
import { readNumber } from "./language/Numbers.ts"

export interface Value {
  readonly datatype: string
  readonly lexical: string
}

/** The value in the first of the property's datatypes that the text can be read as; without datatypes, the value it looks like. */
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

/** Whether a value can be read in one of the property's datatypes. True for a property of entities. */
export const fitsDatatype = (ontology: OntologyIndex, property: string, text: string, language?: string): boolean =>
  ontology.properties.get(property)?.kind !== "datatype" || valueOf(ontology, property, text, language) !== undefined

/** `rdfs:Literal` stands for any literal, so a value needs a concrete datatype. `rdf:langString` needs a language. */
const concrete = (datatype: string, language: string | undefined): string =>
  datatype === rdfs.literal || (datatype === rdf.langString && language === undefined) ? xsd.string : datatype

const byAppearance = (text: string, language: string | undefined): Value => {
  const time = lexicalDateTime(text)
  if (time !== undefined) return { datatype: xsd.dateTime, lexical: time }
  const date = dateOf(text, language)
  if (date !== undefined) {
    const datatype = date.day !== undefined ? xsd.date : date.month !== undefined ? xsd.gYearMonth : xsd.gYear
    return { datatype, lexical: lexicalDate(date) }
  }
  const number = isNumber(text) ? readNumber(text, language) : undefined
  if (number !== undefined) return { datatype: number.whole ? xsd.integer : xsd.decimal, lexical: number.lexical }
  return { datatype: xsd.string, lexical: text }
}

const isNumber = (text: string): boolean =>
  /^[$€£¥₹+-]?\s?\d[\d.,'’\s]*(?:hundred|thousand|million|billion|trillion|%)?$/i.test(text.trim())

const lexicalOf = (datatype: string, text: string, language: string | undefined): string | undefined => {
  const reader = readers[datatype]
  if (reader !== undefined) return reader(text, language)
  if (wholeTypes.test(datatype)) {
    const number = readNumber(text, language)
    return number?.whole ? number.lexical : undefined
  }
  return text
}

/** Whether the values of a datatype are numbers. */
export const isNumeric = (datatype: string): boolean => numberTypes.has(datatype) || wholeTypes.test(datatype)

const numberTypes: ReadonlySet<string> = new Set([xsd.integer, xsd.decimal, xsd.double, xsd.float])

const wholeTypes = /#(?:int|long|short|byte|nonNegativeInteger|positiveInteger|unsigned(?:Int|Long|Short|Byte))$/

const readers: Readonly<Record<string, (text: string, language: string | undefined) => string | undefined>> = {
  [xsd.date]: (text, language) => {
    const date = dateOf(text, language) ?? compactDate(text)
    return date?.day === undefined ? undefined : lexicalDate(date)
  },
  [xsd.dateTime]: (text, language) => {
    const time = lexicalDateTime(text)
    if (time !== undefined) return time
    const date = dateOf(text, language) ?? compactDate(text)
    return date?.day === undefined ? undefined : `${lexicalDate(date)}T00:00:00Z`
  },
  [xsd.gYearMonth]: (text, language) => {
    const date = dateOf(text, language)
    return date?.month === undefined ? undefined : lexicalDate({ ...date, day: undefined })
  },
  [xsd.gYear]: (text, language) => {
    const date = dateOf(text, language)
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

/** "20010525": only a property of dates makes these digits a date. */
const compactDate = (text: string): ReturnType<typeof dateOf> => {
  const match = /^(\d{4})(\d\d)(\d\d)$/.exec(text.trim())
  return match === null ? undefined : dateOf(`${match[1]}-${match[2]}-${match[3]}`)
}

const booleans: Readonly<Record<string, string>> = Object.fromEntries([
  ..."true yes 1 ja wahr oui vrai sí si verdadero".split(" ").map((word) => [word, "true"]),
  ..."false no 0 nein falsch non faux falso".split(" ").map((word) => [word, "false"]),
])
