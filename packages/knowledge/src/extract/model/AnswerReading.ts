/**
 * Reads what a model answered. Not every server keeps a model to the schema it was given, so the answer as a whole has to be
 * JSON of the right outline, and each item that does not fit is left out alone.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { ExtractionFailed } from "../ExtractionFailed.ts"
import { type Rejection, rejectionOf } from "./Rejection.ts"

const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

export const SaidEntity = Schema.Struct({
  quote: Schema.String,
  class: Schema.String,
  /** The number of the entity among those that are known, counted from 1. */
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

export interface Said<A> {
  readonly items: ReadonlyArray<A>
  readonly rejected: ReadonlyArray<Rejection>
}

export const readEntities = (extractor: string, text: string) => readItems(extractor, text, "entities", SaidEntity)

export const readFacts = (extractor: string, text: string) => readItems(extractor, text, "facts", SaidFact)

const readItems = <A>(
  extractor: string,
  text: string,
  field: "entities" | "facts",
  schema: Schema.Codec<A, unknown>,
): Result.Result<Said<A>, ExtractionFailed> => {
  const parsed = parse(text)
  const list = typeof parsed === "object" && parsed !== null ? (parsed as Readonly<Record<string, unknown>>)[field] : undefined
  if (!Array.isArray(list)) return Result.fail(malformed(extractor, text, field))
  const decode = Schema.decodeUnknownResult(schema)
  const items: Array<A> = []
  const rejected: Array<Rejection> = []
  for (const item of list as ReadonlyArray<unknown>) {
    const decoded = decode(item)
    if (Result.isSuccess(decoded)) items.push(decoded.success)
    else rejected.push(rejectionOf(field === "facts" ? "fact" : "entity", "Malformed", item))
  }
  return Result.succeed({ items, rejected })
}

/** Some models put a fence around their JSON, or a sentence before it. */
const parse = (text: string): unknown => {
  const start = text.indexOf("{")
  const end = text.lastIndexOf("}")
  try {
    return JSON.parse(start === -1 || end < start ? text : text.slice(start, end + 1))
  } catch {
    // The caller says that this is no JSON, and what it was instead.
    return undefined
  }
}

const malformed = (extractor: string, text: string, field: string): ExtractionFailed =>
  new ExtractionFailed({
    extractor,
    reason: "Malformed",
    retryable: true,
    detail: `the answer is no JSON with a list of ${field}: ${JSON.stringify(text.slice(0, 200))}`,
  })
