/** Schema errors as text. The message of a user's check may quote the value, so it is not shown at a sensitive place. */
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { issueText } from "./IssueText.ts"
import { secretDepth } from "./Sensitive.ts"

/** The failure of a decoder. */
export type SchemaFailure = Pick<Schema.SchemaError, "issue">

export interface SafeIssue {
  /** Ends at the first sensitive place. */
  readonly path: ReadonlyArray<PropertyKey>
  readonly message: string
  /** Whether the value at the path must not be shown. */
  readonly secret: boolean
}

/** Marks messages that come from the user's schema. */
const custom = "\u0000"

const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => {
    const message = SchemaIssue.defaultLeafHook(issue)
    return "annotations" in issue && issue.annotations?.["message"] !== undefined ? custom + message : message
  },
  checkHook: (issue) => {
    const message = SchemaIssue.defaultCheckHook(issue)
    return message === undefined ? undefined : custom + message
  },
})

export const safeIssues = (schema: Schema.Constraint, { issue }: SchemaFailure): ReadonlyArray<SafeIssue> =>
  format(issue).issues.map(({ path = [], message }) => {
    const keys = path.map((part) => (typeof part === "object" ? part.key : part))
    const depth = secretDepth(schema, keys)
    const isCustom = message.startsWith(custom)
    if (depth === undefined) return { path: keys, message: isCustom ? message.slice(custom.length) : message, secret: false }
    return { path: keys.slice(0, depth), message: isCustom || depth < keys.length ? "Expected a valid value" : message, secret: true }
  })

/** The places that do not fit, without their values. */
export const pathsOf = ({ issue }: SchemaFailure): ReadonlyArray<string> =>
  format(issue)
    .issues.map(({ path = [] }) => path.map((part) => String(typeof part === "object" ? part.key : part)).join("."))
    .filter((path) => path !== "")

/** The failure in one line, each field by its name, without secrets: `n: Expected an integer; address.street is missing`. */
export const schemaProblem = (schema: Schema.Constraint, failure: SchemaFailure): string =>
  safeIssues(schema, failure)
    .map(({ path, message }) => issueText(path, message))
    .join("; ")
