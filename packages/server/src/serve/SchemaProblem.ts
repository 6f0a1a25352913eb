/** What does not fit a schema, as a sentence: what is wrong where, in one line. */
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

const missing = "is missing"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "MissingKey" ? missing : SchemaIssue.defaultLeafHook(issue)),
})

type Problem = Pick<Schema.SchemaError, "issue">
type Path = ReadonlyArray<PropertyKey | { readonly key: PropertyKey }>

export const problemOfSchema = (problem: Problem): string => sentencesOf(problem, () => "")

/** The same with the given value, except for sensitive fields. */
export const problemOfFields = (problem: Problem, given: object, secret: ReadonlyArray<string>): string =>
  sentencesOf(problem, (path) => (secret.includes(nameOf(path[0] ?? "")) ? "" : `, got ${shortText(valueAt(given, path))}`))

const sentencesOf = ({ issue }: Problem, gotAt: (path: Path) => string): string =>
  format(issue)
    .issues.map(({ path = [], message }) => {
      const got = message.startsWith("Expected ") && path.length > 0 ? gotAt(path) : ""
      return sentenceOf(path.map(nameOf).join("."), `${oneLine(message)}${got}`)
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

const sentenceOf = (place: string, message: string): string => {
  if (place === "") return message
  return message === missing ? `${place} ${message}` : `${place}: ${message}`
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
