/**
 * Checks a model's answer. It accepts names and quotes that are in the text, classes and properties that are in the ontology and fit
 * each other, and values that the text states; it rejects everything else, with the reason. Not every server makes the model follow
 * the schema, so the answer as a whole must be JSON of the right outline, and an item that does not fit is rejected alone.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { Chunk } from "../../document/Chunk.ts"
import type { Fact, FactObject, Mention, Span } from "../../fact/Fact.ts"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { xsd } from "../../rdf/Vocabulary.ts"
import { ExtractionFailed, type KnownEntity, type RejectedItem } from "../Extractor.ts"
import type { Vocabulary } from "./Prompt.ts"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

export const SaidEntity = Schema.Struct({
  quote: Schema.String,
  class: Schema.String,
  /** The number of the entity in the prompt's list of known entities, counted from 1. */
  known: optional(Schema.Int),
  confidence: optional(Schema.Finite),
})
export type SaidEntity = typeof SaidEntity.Type

export const SaidFact = Schema.Struct({
  subject: Schema.Int,
  property: Schema.String,
  object: optional(Schema.Int),
  value: optional(Schema.String),
  normalized: optional(Schema.String),
  quote: Schema.String,
  confidence: optional(Schema.Finite),
})
export type SaidFact = typeof SaidFact.Type

/** A clause of the answer to a question, with the words of a numbered passage that prove it. */
export const SaidClause = Schema.Struct({ text: Schema.String, passage: Schema.Int, quote: Schema.String })
export type SaidClause = typeof SaidClause.Type

export interface Said<A> {
  readonly items: ReadonlyArray<A>
  readonly rejected: ReadonlyArray<Rejection>
}

export const readEntities = (extractor: string, text: string) => readItems(extractor, text, "entities", SaidEntity)

export const readFacts = (extractor: string, text: string) => readItems(extractor, text, "facts", SaidFact)

export const readClauses = (extractor: string, text: string) => readItems(extractor, text, "clauses", SaidClause)

const readItems = <A>(
  extractor: string,
  text: string,
  field: "entities" | "facts" | "clauses",
  schema: Schema.Codec<A, unknown>,
): Result.Result<Said<A>, ExtractionFailed> => {
  const list = listIn(text, field)
  if (list === undefined) return Result.fail(malformed(extractor, text, field))
  const decode = Schema.decodeUnknownResult(schema)
  const items: Array<A> = []
  const rejected: Array<Rejection> = []
  for (const item of list) {
    const decoded = decode(item)
    if (Result.isSuccess(decoded)) items.push(decoded.success)
    else rejected.push(rejectionOf(kinds[field], "Malformed", item))
  }
  return Result.succeed({ items, rejected })
}

const kinds = { entities: "entity", facts: "fact", clauses: "clause" } as const

/**
 * The list of an answer. Models put fences, sentences or their reasoning around their JSON: the last object that has the list is the
 * answer. What a model thinks before it answers is not, though it may look like one.
 */
const listIn = (text: string, field: string): ReadonlyArray<unknown> | undefined => {
  const said = text.slice(Math.max(0, ...thoughtEnds.map((end) => text.lastIndexOf(end) + end.length * Number(text.includes(end)))))
  for (const object of [said, ...objectsIn(said).toReversed()]) {
    const parsed = parse(object)
    const list = typeof parsed === "object" && parsed !== null ? (parsed as Readonly<Record<string, unknown>>)[field] : undefined
    if (Array.isArray(list)) return list
  }
  return undefined
}

/** The ends of the reasoning that some models write into their answers. */
const thoughtEnds = ["</think>", "</thinking>", "</thought>", "</reasoning>"]

/** How many objects of an answer are parsed: prose with many braces is no answer. */
const mostObjects = 50

/** The pieces of the text between an opening brace and its closing one that are in no other such piece, in one pass. */
const objectsIn = (text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let [depth, start, isQuoted] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isQuoted) {
      if (character === "\\") at++
      else if (character === '"') isQuoted = false
    } else if (character === '"') isQuoted = depth > 0
    else if (character === "{") {
      if (depth++ === 0) start = at
    } else if (character === "}" && depth > 0 && --depth === 0) pieces.push(text.slice(start, at + 1))
  }
  return pieces.slice(-mostObjects)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller reports that this is not JSON, with its beginning.
    return undefined
  }
}

const malformed = (extractor: string, text: string, field: string): ExtractionFailed =>
  new ExtractionFailed({
    extractor,
    reason: "Malformed",
    retryable: true,
    detail: `the answer is not JSON with a list of ${field}: ${JSON.stringify(text.slice(0, 200))}`,
  })

export interface Checked<A> {
  readonly taken: ReadonlyArray<A>
  readonly rejected: ReadonlyArray<Rejection>
}

/** The confidence of an item for which the model gives none. */
const unsaid = 0.5

export const checkEntities = (
  said: ReadonlyArray<SaidEntity>,
  chunk: Chunk,
  classes: Vocabulary,
  known: ReadonlyArray<KnownEntity> = [],
): Checked<Mention> => {
  const finder = new QuoteFinder(chunk.text)
  const types = new Map(classes.map(({ key, iri }) => [key, iri]))
  const taken: Array<Mention> = []
  const rejected: Array<Rejection> = []
  const used = new Map<string, number>()
  for (const entity of said) {
    const type = types.get(entity.class)
    if (type === undefined) {
      rejected.push(rejectionOf("entity", "UnknownClass", entity))
      continue
    }
    // The second time the model gives a name, it means the name's second place in the text; without a place left it is ignored.
    const turn = used.get(entity.quote) ?? 0
    const places = finder.findAll(entity.quote)
    const span = places[turn]
    if (span === undefined) {
      if (places.length === 0) rejected.push(rejectionOf("entity", "QuoteNotFound", entity))
      continue
    }
    used.set(entity.quote, turn + 1)
    const name = nameOf(entity, type, known)
    taken.push({
      type,
      text: textAt(chunk, span),
      span: inDocument(chunk, span),
      confidence: confidenceOf(entity),
      ...(name === undefined ? {} : { name }),
    })
  }
  return { taken, rejected }
}

/** A known entity of another class is not the same entity, even if the model says so. */
const nameOf = (entity: SaidEntity, type: string, known: ReadonlyArray<KnownEntity>): string | undefined => {
  const same = entity.known === undefined || entity.known === null ? undefined : known[entity.known - 1]
  return same?.types.includes(type) ? same.label : undefined
}

export const checkFacts = (
  said: ReadonlyArray<SaidFact>,
  chunk: Chunk,
  mentions: ReadonlyArray<Mention>,
  properties: Vocabulary,
  ontology: OntologyIndex,
): Checked<Fact> => {
  const finder = new QuoteFinder(chunk.text)
  const byKey = new Map(properties.map(({ key, iri }) => [key, iri]))
  const taken: Array<Fact> = []
  const rejected: Array<Rejection> = []
  for (const item of said) {
    const outcome = checkFact(item, { chunk, mentions, byKey, ontology, finder })
    if (typeof outcome === "string") rejected.push(rejectionOf("fact", outcome, item))
    else taken.push(outcome)
  }
  return { taken, rejected }
}

interface CheckContext {
  readonly chunk: Chunk
  readonly mentions: ReadonlyArray<Mention>
  readonly byKey: ReadonlyMap<string, string>
  readonly ontology: OntologyIndex
  readonly finder: QuoteFinder
}

const checkFact = (said: SaidFact, context: CheckContext): Fact | RejectionReason => {
  const { chunk, mentions, byKey, ontology, finder } = context
  const property = byKey.get(said.property)
  if (property === undefined) return "UnknownProperty"
  const subject = mentions[said.subject - 1]
  if (subject === undefined) return "UnknownEntity"
  if (!ontology.acceptsSubject(property, subject.type)) return "DomainMismatch"
  const span = nearest(finder.findAll(said.quote), subject.span.start - chunk.offset)
  if (span === undefined) return "QuoteNotFound"
  const object = checkObject(said, property, span, context)
  if (typeof object === "string") return object
  return { subject, property, object, quote: textAt(chunk, span), span: inDocument(chunk, span), confidence: confidenceOf(said) }
}

const checkObject = (said: SaidFact, property: string, quote: Span, context: CheckContext): FactObject | RejectionReason => {
  const { mentions, ontology } = context
  if (said.object === undefined || said.object === null) return checkValue(said, property, quote, context)
  const mention = mentions[said.object - 1]
  if (mention === undefined) return "UnknownEntity"
  return ontology.acceptsObject(property, mention.type) ? { _tag: "Entity", mention } : "RangeMismatch"
}

const checkValue = (
  said: SaidFact,
  property: string,
  quote: Span,
  { chunk, ontology, finder }: CheckContext,
): FactObject | RejectionReason => {
  if (said.value === undefined || said.value === null) return "Malformed"
  const span = nearest(finder.findAll(said.value), quote.start)
  if (span === undefined) return "QuoteNotFound"
  const text = textAt(chunk, span)
  const possible = ontology.datatypesOf(property)
  for (const datatype of possible.length === 0 ? [xsd.string] : possible) {
    if (!ontology.acceptsValue(property, datatype)) continue
    const lexical = lexicalOf(datatype, text, said.normalized ?? said.value)
    if (lexical !== undefined) return { _tag: "Value", text, span: inDocument(chunk, span), datatype, lexical }
  }
  return possible.some((datatype) => ontology.acceptsValue(property, datatype)) ? "InvalidValue" : "RangeMismatch"
}

/** The place closest to the position `to`. */
const nearest = (places: ReadonlyArray<Span>, to: number): Span | undefined =>
  places.toSorted((a, b) => distance(a, to) - distance(b, to) || a.start - b.start)[0]

const distance = ({ start, end }: Span, to: number): number => (to < start ? start - to : Math.max(0, to - end))

const textAt = (chunk: Chunk, { start, end }: Span): string => chunk.text.slice(start, end)

const inDocument = (chunk: Chunk, { start, end }: Span): Span => ({ start: start + chunk.offset, end: end + chunk.offset })

const confidenceOf = ({ confidence }: { readonly confidence?: number | null }): number => Math.min(1, Math.max(0, confidence ?? unsaid))

/** Why an item of a model's answer was rejected. Counted by a metric, which shows a model that invents facts. */
export type RejectionReason =
  /** Not of the requested form. */
  | "Malformed"
  /** The quoted words are not in the text. */
  | "QuoteNotFound"
  | "UnknownClass"
  | "UnknownProperty"
  | "UnknownEntity"
  /** The property does not accept the class of the subject, or that of the object. */
  | "DomainMismatch"
  | "RangeMismatch"
  /** Not in the lexical form of the datatype, or not what the text says. */
  | "InvalidValue"

/** For people: what a reason means. */
const problems: Readonly<Record<RejectionReason, string>> = {
  Malformed: "not of the form that was asked for",
  QuoteNotFound: "the text does not have these words",
  UnknownClass: "the ontology does not have the class",
  UnknownProperty: "the ontology does not have the property",
  UnknownEntity: "it is about an entity that was not found",
  DomainMismatch: "the property does not accept the class of the subject",
  RangeMismatch: "the property does not accept the object",
  InvalidValue: "the value is not what the text says, or not of its datatype",
}

export interface Rejection extends RejectedItem {
  readonly of: "entity" | "fact" | "clause"
  readonly reason: RejectionReason
  /** The item as the model gave it, shortened. */
  readonly said: string
}

const rejectionOf = (of: Rejection["of"], reason: RejectionReason, said: unknown): Rejection => ({
  of,
  reason,
  said: JSON.stringify(said)?.slice(0, 300) ?? "",
  text: summaryOf(said),
  problem: problems[reason],
})

/** `passed "ShipAlba passed ShipBoreas"`. */
const summaryOf = (said: unknown): string => {
  const item: Readonly<Record<string, unknown>> = typeof said === "object" && said !== null ? { ...said } : {}
  const parts = [item["property"] ?? item["class"], JSON.stringify(item["quote"])].filter((part) => typeof part === "string")
  return (parts.length === 0 ? (JSON.stringify(said) ?? "") : parts.join(" ")).slice(0, 300)
}

/** By extractor and reason. */
const rejectedCounter = Metric.counter("detent_extraction_rejected", {
  description: "Entities and facts of extractors that were rejected",
  incremental: true,
})

export const countRejections = (extractor: string, rejections: ReadonlyArray<Rejection>): Effect.Effect<void> =>
  Effect.forEach(rejections, ({ of, reason }) => Metric.update(Metric.withAttributes(rejectedCounter, { extractor, of, reason }), 1), {
    discard: true,
  })

/**
 * Finds quoted words in a text. A quote must be in the text to the letter; only white space may differ, since models repair line
 * breaks. The spans are always those of the original text.
 */
export class QuoteFinder {
  readonly #text: string
  #collapsed: Collapsed | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** All occurrences of the words at word boundaries, in order. */
  findAll(quote: string): ReadonlyArray<Span> {
    const words = quote.trim()
    if (words === "") return []
    const exact = occurrences(this.#text, words).filter((span) => standsAlone(this.#text, span))
    if (exact.length > 0) return exact
    this.#collapsed ??= collapse(this.#text)
    const { text, origin } = this.#collapsed
    return occurrences(text, words.replace(/\s+/gu, " "))
      .map(({ start, end }) => ({ start: origin[start]!, end: origin[end - 1]! + 1 }))
      .filter((span) => standsAlone(this.#text, span))
  }
}

interface Collapsed {
  /** The text with one space for every run of white space. */
  readonly text: string
  /** The position of each of its characters in the original. */
  readonly origin: ReadonlyArray<number>
}

const collapse = (text: string): Collapsed => {
  const parts: Array<string> = []
  const origin: Array<number> = []
  for (const { 0: part, index } of text.matchAll(/\s+|\S+/gu)) {
    const isSpace = /^\s/u.test(part)
    parts.push(isSpace ? " " : part)
    for (let offset = 0; offset < (isSpace ? 1 : part.length); offset++) origin.push(index + offset)
  }
  return { text: parts.join(""), origin }
}

const occurrences = (text: string, words: string): ReadonlyArray<Span> => {
  const found: Array<Span> = []
  for (let start = text.indexOf(words); start !== -1; start = text.indexOf(words, start + 1))
    found.push({ start, end: start + words.length })
  return found
}

/** Whether a span is at word boundaries: "Ada" in "Canada" is not. Scripts without spaces between words have no boundaries. */
const standsAlone = (text: string, { start, end }: Span): boolean => !joins(text, start) && !joins(text, end)

const joins = (text: string, at: number): boolean => {
  const before = /[\p{L}\p{M}\p{N}]$/u.exec(text.slice(Math.max(0, at - 2), at))?.[0]
  const after = /^[\p{L}\p{M}\p{N}]/u.exec(text.slice(at, at + 2))?.[0]
  return before !== undefined && after !== undefined && !unspaced.test(before) && !unspaced.test(after)
}

const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Hangul}]/u

// Checks that a value has the lexical form of its datatype and says what the text says. The numbers in a value must be those in
// the text: a model may write "2 May 1984" as 1984-05-02, but not as 1985-05-02.

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
  ].map((name) => xsd.base + name),
)
const decimals = new Set(["decimal", "double", "float"].map((name) => xsd.base + name))
const dates = new Set(["date", "dateTime", "gYear", "gYearMonth"].map((name) => xsd.base + name))

/** The lexical form of a value; undefined if `written` does not have the form of the datatype, or does not say what the text says. */
export const lexicalOf = (datatype: string, text: string, written: string): string | undefined => {
  const lexical = written.trim()
  if (integers.has(datatype)) return /^[+-]?\d+$/.test(lexical) && saysNumber(text, lexical) ? lexical : undefined
  if (decimals.has(datatype)) return isDecimal(datatype, lexical) && saysNumber(text, lexical) ? lexical : undefined
  if (dates.has(datatype)) return isDate(datatype, lexical) && saysDate(text, lexical) ? lexical : undefined
  if (datatype === `${xsd.base}boolean`) return /^(true|false|1|0)$/.test(lexical) ? lexical : undefined
  // A string value is the text of the document, not the model's version of it.
  const plain = text.replace(/\s+/gu, " ").trim()
  if (datatype === `${xsd.base}anyURI`) return /^\S+$/.test(plain) ? plain : undefined
  return plain
}

const isDecimal = (datatype: string, lexical: string): boolean =>
  datatype === `${xsd.base}decimal` ? /^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(lexical) : /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(lexical)

const isDate = (datatype: string, lexical: string): boolean => {
  if (datatype === `${xsd.base}gYear`) return /^-?\d{4,}$/.test(lexical)
  if (datatype === `${xsd.base}gYearMonth`) return /^-?\d{4,}-(0[1-9]|1[0-2])$/.test(lexical)
  const parts = /^-?(\d{4,})-(\d{2})-(\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(lexical)
  if (parts === null || (parts[4] !== undefined) !== (datatype === `${xsd.base}dateTime`)) return false
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month)
}

const daysIn = (year: number, month: number): number => {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/**
 * Number words are left to the model. Digits, decimal point and sign must be those of the text, except that words and percent signs may
 * scale the number ("1.2 million") and words or parentheses may make it negative ("500 BC").
 */
const saysNumber = (text: string, lexical: string): boolean => {
  const western = westernDigits(text)
  const [first, ...others] = western.matchAll(writtenNumber)
  if (first === undefined) return !/\p{N}/u.test(text)
  const value = decimalOf(lexical)
  const isNegative = lexical.startsWith("-") && value.digits !== ""
  if (endsInMinus.test(western.slice(0, first.index)) ? !isNegative : isNegative && !/[\p{L}(]/u.test(text)) return false
  // "2 million 500 thousand": the model does the sum, so only the digits are compared.
  if (others.length > 0) return decimalOf(western.replace(/\D/g, "")).digits === value.digits
  const isScaled = /[\p{L}%‰]/u.test(text)
  return readingsOf(first[0]).some(({ digits, exponent }) => {
    const scale = Math.abs(value.exponent - exponent)
    return digits === value.digits && (scale === 0 || (isScaled && scale >= 2))
  })
}

/** Digits with marks between them, or with a decimal point before them. A space between digits groups thousands. */
const writtenNumber = /(?:(?<![\p{L}\p{N}])[.,·])?\d+(?:[.,'’·٫٬．，]\d+|\s\d{3}(?!\d))*/gu

/** A hyphen after a letter or digit is no sign: "Apollo-11", "10-20". */
const endsInMinus = /(?<![\p{L}\p{N}])[-−–－]\p{Sc}?$/u

/** A decimal number: `digits`, without zeros at either end, times ten to the power of `exponent`. */
interface Decimal {
  readonly digits: string
  readonly exponent: number
}

const decimalOf = (lexical: string): Decimal => {
  const [mantissa = "", power = "0"] = lexical.split(/[eE]/)
  const [whole = "", fraction = ""] = mantissa.replace(/^[+-]/, "").split(".")
  const significant = `${whole}${fraction}`.replace(/^0+/, "")
  let end = significant.length
  while (significant[end - 1] === "0") end--
  const digits = significant.slice(0, end)
  if (digits === "") return { digits, exponent: 0 }
  return { digits, exponent: Number(power) - fraction.length + significant.length - digits.length }
}

/** The numbers that a written number can stand for: "1.250" is 1250 in some languages and 1.25 in others. */
const readingsOf = (written: string): ReadonlyArray<Decimal> => {
  const groups = written.split(/\D/)
  const marks = written.replace(/\d/g, "")
  const whole = groups.slice(0, -1)
  const last = groups.at(-1) ?? ""
  const isFraction = /\S$/.test(marks) && !marks.slice(0, -1).includes(marks.slice(-1)) && isGrouped(whole, marks.slice(0, -1))
  return [
    ...(isGrouped(groups, marks) ? [decimalOf(groups.join(""))] : []),
    ...(isFraction ? [decimalOf(`${whole.join("")}.${last}`)] : []),
  ]
}

/** Whether the digits are in groups of three, or of two before the last as in "12,34,567", with the same mark between all. */
const isGrouped = (groups: ReadonlyArray<string>, marks: string): boolean =>
  groups.length === 1 || (new Set(marks).size === 1 && /^[1-9]\d{0,2}(?: \d{2,3})* \d{3}$/.test(groups.join(" ")))

/** Whether every number of the text is one of the value's; a two-digit year matches the last digits of the year. */
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
    // Unicode has the ten digits of a script in a row, and some scripts directly after each other.
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
    return String((point - zero) % 10)
  })
