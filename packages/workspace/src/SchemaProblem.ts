/** What does not fit a schema, as a sentence: what is wrong where, in one line. */
import { type SchemaFailure, safeIssues } from "@detent/machine/internal"
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

const missing = "is missing"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

type Path = ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>

export const problemOfSchema = ({ issue }: SchemaFailure): string =>
  format(issue)
    .issues.map(({ path = [], message }) => sentenceOf(path, message, ""))
    .join("; ")

/** The same with the given value, except where it is sensitive. */
export const problemOfFields = (problem: SchemaFailure, given: object, schema: Schema.Constraint): string =>
  safeIssues(schema, problem)
    .map(({ path, message, secret }) => {
      const isGot = message.startsWith("Expected ") && path.length > 0 && !secret
      return sentenceOf(path, message, isGot ? `, got ${shortText(valueAt(given, path))}` : "")
    })
    .join("; ")

const valueAt = (given: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, part) => (isObject(value) ? Object.getOwnPropertyDescriptor(value, nameOf(part))?.value : undefined), given)

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const longest = 60

/** The sender knows the rest of it. */
const shortText = (value: unknown): string => {
  if (Array.isArray(value)) return "an array"
  if (isObject(value)) return "an object"
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value) ?? "nothing"
  return `${JSON.stringify(value.slice(0, longest).toWellFormed())}… of ${value.length} characters`
}

const sentenceOf = (path: Path, message: string, got: string): string => {
  const place = path.map(nameOf).join(".")
  if (message === "Missing key" && place !== "") return `${place} ${missing}`
  return place === "" ? oneLine(message) : `${place}: ${oneLine(message)}${got}`
}

const nameOf = (part: Path[number]): string => String(typeof part === "object" ? part.key : part)

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ", ")

/** The same for a text that was made of such a problem elsewhere, with the places on lines of their own. */
export const inOneLine = (text: string): string =>
  text
    .replaceAll(/Missing key\n\s*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => `${namesIn(place)} ${missing}`)
    .replaceAll(/\n\s*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => ` at ${namesIn(place)}`)
    .replaceAll(/\s*\n\s*/g, "; ")

const namesIn = (place: string): string => place.slice(1, -1).replaceAll("][", ".").replaceAll('"', "")
