/**
 * Reads JSON as text: a line `key: value` for every value, a paragraph for every object in a list. Keys of nested objects follow
 * the key of their parent: `address city: Oslo`. An object is a record, and so is each object in a list of objects at the top.
 */

import { describe } from "@detent/machine/internal"
import * as Result from "effect/Result"
import type { Place } from "../fact/Fact.ts"
import { findJsonFault } from "../ontology/JsonFault.ts"
import { DocumentMalformed } from "./ReadError.ts"
import { columnOfKeys, type Reading, TextBuilder } from "./Reading.ts"
import type { DecodedText } from "./TextDecoding.ts"

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** The keys and positions from the top to a value. */
export type JsonPath = ReadonlyArray<string | number>

export const readJson = (source: string, { text, encoding }: DecodedText): Result.Result<Reading, DocumentMalformed> =>
  Result.flatMap(parse(source, text, "json"), (value) => readingOf(source, "json", value, encoding))

/** Reads lines of JSON, each a record. Empty lines are passed over. */
export const readJsonLines = (source: string, { text, encoding }: DecodedText): Result.Result<Reading, DocumentMalformed> => {
  const values: Array<Json> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const value = parse(source, line, "jsonl")
    if (Result.isFailure(value)) return Result.fail(new DocumentMalformed({ ...value.failure, line: index + 1 }))
    values.push(value.success)
  }
  return readingOf(source, "jsonl", values, encoding)
}

const readingOf = (source: string, format: "json" | "jsonl", value: Json, encoding: DecodedText["encoding"]) => {
  const builder = new TextBuilder()
  const isShallow = addValues({ builder, table: "", placeOf: (path) => ({ _tag: "Pointer", pointer: pointerOf(path) }) }, value)
  return isShallow
    ? Result.succeed(builder.build(encoding, declaredLanguage(value)))
    : Result.fail(new DocumentMalformed({ source, format, problem: `it is nested more than ${deepest} deep` }))
}

const deepest = 200

/** Fields that declare the language of a document. Only a language tag counts: `language: "German"` describes the content. */
const languageFields = ["lang", "language", "inLanguage", "locale", "@language"]

export const declaredLanguage = (value: Json): string | undefined => {
  if (isScalar(value) || Array.isArray(value)) return undefined
  const fields = value as { readonly [key: string]: Json }
  const context = fields["@context"]
  const own = languageFields.map((field) => fields[field])
  const said = [
    ...own,
    context === undefined || isScalar(context) || Array.isArray(context) ? undefined : (context as typeof fields)["@language"],
  ]
  return said.find((one): one is string => typeof one === "string" && /^[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8})*$/.test(one))
}

const parse = (source: string, text: string, format: "json" | "jsonl"): Result.Result<Json, DocumentMalformed> => {
  try {
    return Result.succeed(JSON.parse(text) as Json)
  } catch (error) {
    const fault = findJsonFault(text)
    const line = fault === undefined ? {} : { line: fault.line }
    return Result.fail(new DocumentMalformed({ source, format, problem: fault?.problem ?? describe(error), ...line }))
  }
}

const isScalar = (value: Json): value is null | boolean | number | string => typeof value !== "object" || value === null

/** Where values are written, and where they come from. */
export interface ValueWriting {
  readonly builder: TextBuilder
  /** The name of the table that the records are in. */
  readonly table: string
  readonly placeOf: (path: JsonPath) => Place
}

/** Adds a value and its records. Returns false when it is nested too deep. */
export const addValues = (writing: ValueWriting, value: Json): boolean => {
  const { builder, table } = writing
  if (isScalar(value) || !Array.isArray(value) || value.every(isScalar)) {
    builder.record({ table, number: 1 })
    return addValue({ ...writing, top: 0 }, value, [], [], 0)
  }
  return (value as ReadonlyArray<Json>).every((item, index) => {
    builder.breakLine(2)
    builder.record({ table, number: index + 1 })
    const isShallow = addValue({ ...writing, top: 1 }, item, [], [index], 1)
    builder.breakLine(2)
    return isShallow
  })
}

/** `top`: how many steps of a path lead to the record. */
type RecordWriting = ValueWriting & { readonly top: number }

const addValue = (writing: RecordWriting, value: Json, keys: ReadonlyArray<string>, path: JsonPath, depth: number): boolean => {
  if (depth > deepest) return false
  if (isScalar(value)) {
    addLine(writing, keys, [{ value, path }])
    return true
  }
  if (Array.isArray(value)) return addList(writing, value, keys, path, depth)
  // The scalars of an object come first, then its nested objects, then the names of records in its lists, which are paragraphs of their own.
  const ordered = Object.entries(value).toSorted(([, one], [, other]) => rank(one) - rank(other))
  const add = ([key, inner]: readonly [string, Json]) => addValue(writing, inner, [...keys, key], [...path, key], depth + 1)
  const records = ordered.filter(([, inner]) => rank(inner) === ofRecords)
  if (!ordered.filter(([, inner]) => rank(inner) !== ofRecords).every(add)) return false
  for (const [key, list] of records) addLine(writing, [...keys, key], namesIn(list, [...path, key]), "names")
  return records.every(add)
}

const ofRecords = 2

const nameFields: ReadonlySet<string> = new Set(["name", "title", "label", "fullname", "full name", "full_name"])

/** The names of the records in a list, by which their parent refers to them. Numbers are no names. */
const namesIn = (list: Json, path: JsonPath): ReadonlyArray<Scalar> =>
  !Array.isArray(list)
    ? []
    : (list as ReadonlyArray<Json>).flatMap((item, index) => {
        if (isScalar(item) || Array.isArray(item)) return []
        const [key, value] =
          Object.entries(item).find(([field, one]) => nameFields.has(field.toLowerCase()) && typeof one === "string") ?? []
        return key === undefined || value === undefined || !isScalar(value) ? [] : [{ value, path: [...path, index, key] }]
      })

const rank = (value: Json): number => {
  if (Array.isArray(value)) return value.every(isScalar) ? 0 : ofRecords
  return isScalar(value) ? 0 : 1
}

const addList = (
  writing: RecordWriting,
  list: ReadonlyArray<Json>,
  keys: ReadonlyArray<string>,
  path: JsonPath,
  depth: number,
): boolean => {
  if (list.every(isScalar)) {
    addLine(
      writing,
      keys,
      list.map((value, index) => ({ value, path: [...path, index] })),
    )
    return true
  }
  const { builder } = writing
  return list.every((item, index) => {
    builder.breakLine(2)
    // The records of a list are distinguished by their paragraphs, not by the name of the list.
    const isShallow = addValue(writing, item, isScalar(item) ? keys : [], [...path, index], depth + 1)
    builder.breakLine(2)
    return isShallow
  })
}

interface Scalar {
  readonly value: null | boolean | number | string
  readonly path: JsonPath
}

/** `names`: the values stand again where their records are, and are cells only there. */
const addLine = (
  { builder, placeOf, top }: RecordWriting,
  keys: ReadonlyArray<string>,
  scalars: ReadonlyArray<Scalar>,
  what: "values" | "names" = "values",
): void => {
  const said = scalars.filter(({ value }) => value !== null && value !== "")
  if (said.length === 0) return
  builder.breakLine()
  const line = builder.length
  if (keys.length > 0) builder.put(`${keys.join(" ").toWellFormed()}: `)
  for (const [index, { value, path }] of said.entries()) {
    // A value of a list may itself contain a comma.
    if (index > 0) builder.put("; ")
    const start = builder.length
    const text = String(value).toWellFormed()
    builder.add(text, placeOf(path))
    if (what === "names") continue
    const own = path.slice(top)
    const isText = typeof value === "string"
    builder.cell({ column: columnOfKeys(own), keys: own, text, isText, line: index === 0 ? line : start, start, end: builder.length })
  }
  builder.breakLine()
}

/** The JSON Pointer of a path. */
const pointerOf = (path: JsonPath): string => path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
