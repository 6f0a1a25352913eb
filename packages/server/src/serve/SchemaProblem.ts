/** What does not fit a schema, as a sentence: what is wrong where, in one line. */
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

const missing = "is missing"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "MissingKey" ? missing : SchemaIssue.defaultLeafHook(issue)),
})

export const problemOfSchema = ({ issue }: Pick<Schema.SchemaError, "issue">): string =>
  format(issue)
    .issues.map(({ path = [], message }) => sentenceOf(path.map(nameOf).join("."), oneLine(message)))
    .join("; ")

const sentenceOf = (place: string, message: string): string => {
  if (place === "") return message
  return message === missing ? `${place} ${message}` : `${place}: ${message}`
}

const nameOf = (part: PropertyKey | { readonly key: PropertyKey }): string => String(typeof part === "object" ? part.key : part)

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ", ")

/** The same for a text that was made of such a problem elsewhere, with the places on lines of their own. */
export const inOneLine = (text: string): string =>
  text
    .replaceAll(/Missing key\n\s*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => `${namesIn(place)} ${missing}`)
    .replaceAll(/\n\s*at ((?:\[[^\]\n]*\])+)/g, (_, place: string) => ` at ${namesIn(place)}`)
    .replaceAll(/\s*\n\s*/g, "; ")

const namesIn = (place: string): string => place.slice(1, -1).replaceAll("][", ".").replaceAll('"', "")
