/** A schema error as a sentence: each problem with its place, in one line. */
import { unknownKeyText } from "@detent/entity"
import { issueText, type SchemaFailure, safeIssues } from "@detent/machine/internal"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"

const missing = "is missing"

const unknown = "is not known; use one of "

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? `${unknown}${namesOf(issue.ast).join(", ")}` : SchemaIssue.defaultLeafHook(issue)),
})

const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []

type Path = ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>

export const problemOfSchema = ({ issue }: SchemaFailure): string =>
  format(issue)
    .issues.map(({ path = [], message }) => sentenceOf(path, message, ""))
    .join("; ")

/** Like `problemOfSchema`, with the rejected value of each field, except where it is sensitive. */
export const problemOfFields = (problem: SchemaFailure, given: object, schema: Schema.Constraint): string =>
  safeIssues(schema, problem)
    .map(({ path, message, secret }) => {
      // A value under a misspelt name may be sensitive, so it is not shown.
      if (isExcess(message)) return sentenceOf(path, `${unknown}${namesOf(schema.ast).join(", ")}`, "")
      const isGot = message.startsWith("Expected ") && path.length > 0 && !secret
      return sentenceOf(path, message, isGot ? `, got ${shortText(valueAt(given, path))}` : "")
    })
    .join("; ")

/** Effect's messages for a key that a schema does not know, with and without its value. */
const isExcess = (message: string): boolean => message === "Expected no excess property" || message.startsWith("Unexpected key with value")

const valueAt = (given: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, part) => (isObject(value) ? Object.getOwnPropertyDescriptor(value, nameOf(part))?.value : undefined), given)

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const longest = 60

/** Cuts a long text: the sender has the rest. */
const shortText = (value: unknown): string => {
  if (Array.isArray(value)) return "an array"
  if (isObject(value)) return "an object"
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value) ?? "nothing"
  return `${JSON.stringify(value.slice(0, longest).toWellFormed())}… of ${value.length} characters`
}

const sentenceOf = (path: Path, message: string, got: string): string => {
  const names = path.map(nameOf)
  return message.startsWith(unknown)
    ? unknownKeyText(names.join("."), message.slice(unknown.length).split(", "))
    : `${issueText(names, message)}${got}`
}

const strictly = { onExcessProperty: "error", errors: "all" } as const

/** Decodes user input: an unknown key is a problem. */
export const decodeStrictly =
  <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S) =>
  (value: unknown): Result.Result<S["Type"], string> =>
    Result.mapError(Schema.decodeUnknownResult(schema, strictly)(value), problemOfSchema)

const nameOf = (part: Path[number]): string => String(typeof part === "object" ? part.key : part)

/** Puts the text of a schema error into one line. Effect writes the path of each problem on a line of its own. */
export const inOneLine = (text: string): string =>
  joined(
    text
      .replaceAll(/Missing key\n[^\S\n]*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => `${namesIn(place)} ${missing}`)
      .replaceAll(/\n[^\S\n]*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => ` at ${namesIn(place)}`)
      .split("\n"),
  )

/** Trims without a regular expression: the text may contain the caller's input, where a pattern for space could backtrack for long. */
const joined = ([first = "", ...others]: ReadonlyArray<string>): string =>
  [first, ...others.map((line) => line.trim()).filter((line) => line !== "")].map((line) => line.trimEnd()).join("; ")

const namesIn = (place: string): string => place.slice(1, -1).replaceAll("][", ".").replaceAll('"', "")
