/** A schema error as a sentence: each problem with its place, in one line. */
import { issuesOf, issueText, type SchemaFailure, safeIssues } from "@detent/machine/internal"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

type Path = ReadonlyArray<PropertyKey>

export const problemOfSchema = (failure: SchemaFailure): string =>
  issuesOf(failure)
    .map(({ path, problem }) => issueText(path, problem))
    .join("; ")

/** Like `problemOfSchema`, with the rejected value of each field, except where it is sensitive. */
export const problemOfFields = (failure: SchemaFailure, given: object, schema: Schema.Constraint): string =>
  safeIssues(schema, failure)
    .map(({ path, problem, secret }) => {
      // The value under a misspelt name may be sensitive, and the message of the user's schema may name the value already.
      const isShown = problem._tag === "Misfit" && path.length > 0 && !secret
      return `${issueText(path, problem)}${isShown ? `, got ${shortText(valueAt(given, path))}` : ""}`
    })
    .join("; ")

const valueAt = (given: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, part) => (isObject(value) ? Object.getOwnPropertyDescriptor(value, part)?.value : undefined), given)

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null

const longest = 60

/** Cuts a long text: the sender has the rest. */
const shortText = (value: unknown): string => {
  if (Array.isArray(value)) return "an array"
  if (isObject(value)) return "an object"
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value) ?? "nothing"
  return `${JSON.stringify(value.slice(0, longest).toWellFormed())}… of ${value.length} characters`
}

const strictly = { onExcessProperty: "error", errors: "all" } as const

/** Decodes user input: an unknown key is a problem. */
export const decodeStrictly =
  <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S) =>
  (value: unknown): Result.Result<S["Type"], string> =>
    Result.mapError(Schema.decodeUnknownResult(schema, strictly)(value), problemOfSchema)

/** Puts the text of a schema error into one line. Effect writes the path of each problem on a line of its own. */
export const inOneLine = (text: string): string =>
  joined(
    text
      .replaceAll(/Missing key\n[^\S\n]*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => `${namesIn(place)} is missing`)
      .replaceAll(/\n[^\S\n]*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => ` at ${namesIn(place)}`)
      .split("\n"),
  )

/** Trims without a regular expression: the text may contain the caller's input, where a pattern for space could backtrack for long. */
const joined = ([first = "", ...others]: ReadonlyArray<string>): string =>
  [first, ...others.map((line) => line.trim()).filter((line) => line !== "")].map((line) => line.trimEnd()).join("; ")

const namesIn = (place: string): string => place.slice(1, -1).replaceAll("][", ".").replaceAll('"', "")
