/**
 * Reads JSON as text: a line `key: value` for every value, a paragraph for every object in a list. Keys of nested objects follow
 * the key of their parent: `address city: Oslo`.
 */

import { describe } from "@detent/machine/internal"
import * as Result from "effect/Result"
import { findJsonFault } from "../ontology/JsonFault.ts"
import { DocumentMalformed } from "./ReadError.ts"
import { type Reading, TextBuilder } from "./Reading.ts"
import type { DecodedText } from "./TextDecoding.ts"

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

export const readJson = (source: string, { text, encoding }: DecodedText): Result.Result<Reading, DocumentMalformed> => {
  const parsed = parse(source, text)
  if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
  const builder = new TextBuilder()
  const isShallow = addValue(builder, parsed.success, [], "", 0)
  return isShallow
    ? Result.succeed(builder.build(encoding, declaredLanguage(parsed.success)))
    : Result.fail(new DocumentMalformed({ source, format: "json", problem: `it is nested more than ${deepest} deep` }))
}

const deepest = 200

/** Fields that declare the language of a document. Only a language tag counts: `language: "German"` describes the content. */
const languageFields = ["lang", "language", "inLanguage", "locale", "@language"]

const declaredLanguage = (value: Json): string | undefined => {
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

const parse = (source: string, text: string): Result.Result<Json, DocumentMalformed> => {
  try {
    return Result.succeed(JSON.parse(text) as Json)
  } catch (error) {
    const fault = findJsonFault(text)
    const line = fault === undefined ? {} : { line: fault.line }
    return Result.fail(new DocumentMalformed({ source, format: "json", problem: fault?.problem ?? describe(error), ...line }))
  }
}

const isScalar = (value: Json): value is null | boolean | number | string => typeof value !== "object" || value === null

/** Adds a value. Returns false when it is nested too deep. */
const addValue = (builder: TextBuilder, value: Json, keys: ReadonlyArray<string>, pointer: string, depth: number): boolean => {
  if (depth > deepest) return false
  if (isScalar(value)) {
    addLine(builder, keys, [{ value, pointer }])
    return true
  }
  if (Array.isArray(value)) return addList(builder, value, keys, pointer, depth)
  // The scalars of an object come first, then its nested objects, then the names of records in its lists, which are paragraphs of their own.
  const ordered = Object.entries(value).toSorted(([, one], [, other]) => rank(one) - rank(other))
  const add = ([key, inner]: readonly [string, Json]) => addValue(builder, inner, [...keys, key], `${pointer}/${escaped(key)}`, depth + 1)
  const records = ordered.filter(([, inner]) => rank(inner) === ofRecords)
  if (!ordered.filter(([, inner]) => rank(inner) !== ofRecords).every(add)) return false
  for (const [key, list] of records) addLine(builder, [...keys, key], namesIn(list, `${pointer}/${escaped(key)}`))
  return records.every(add)
}

const ofRecords = 2

const nameFields: ReadonlySet<string> = new Set(["name", "title", "label", "fullname", "full name", "full_name"])

/** The names of the records in a list, by which their parent refers to them. Numbers are no names. */
const namesIn = (list: Json, pointer: string): ReadonlyArray<Scalar> =>
  !Array.isArray(list)
    ? []
    : (list as ReadonlyArray<Json>).flatMap((item, index) => {
        if (isScalar(item) || Array.isArray(item)) return []
        const [key, value] =
          Object.entries(item).find(([field, one]) => nameFields.has(field.toLowerCase()) && typeof one === "string") ?? []
        return key === undefined || value === undefined || !isScalar(value)
          ? []
          : [{ value, pointer: `${pointer}/${index}/${escaped(key)}` }]
      })

const rank = (value: Json): number => {
  if (Array.isArray(value)) return value.every(isScalar) ? 0 : ofRecords
  return isScalar(value) ? 0 : 1
}

const addList = (builder: TextBuilder, list: ReadonlyArray<Json>, keys: ReadonlyArray<string>, pointer: string, depth: number): boolean => {
  if (list.every(isScalar)) {
    addLine(
      builder,
      keys,
      list.map((value, index) => ({ value, pointer: `${pointer}/${index}` })),
    )
    return true
  }
  return list.every((item, index) => {
    builder.breakLine(2)
    // The records of a list are distinguished by their paragraphs, not by the name of the list.
    const isShallow = addValue(builder, item, isScalar(item) ? keys : [], `${pointer}/${index}`, depth + 1)
    builder.breakLine(2)
    return isShallow
  })
}

interface Scalar {
  readonly value: null | boolean | number | string
  readonly pointer: string
}

const addLine = (builder: TextBuilder, keys: ReadonlyArray<string>, scalars: ReadonlyArray<Scalar>): void => {
  const said = scalars.filter(({ value }) => value !== null && value !== "")
  if (said.length === 0) return
  builder.breakLine()
  if (keys.length > 0) builder.put(`${keys.join(" ").toWellFormed()}: `)
  for (const [index, { value, pointer }] of said.entries()) {
    // A value of a list may itself contain a comma.
    if (index > 0) builder.put("; ")
    builder.add(String(value).toWellFormed(), { _tag: "Pointer", pointer })
  }
  builder.breakLine()
}

/** Escapes a key for a JSON Pointer. */
const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1")
