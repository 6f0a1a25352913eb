/** What does not fit a schema, in words. Messages that a check wrote may quote its value: at a sensitive place they are not shown. */
import type * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { isSensitive, secretDepth } from "./Sensitive.ts"

/** What a decoder fails with. */
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

/** The failure as one text, without secrets. */
export const schemaProblem = (schema: Schema.Constraint, failure: SchemaFailure): string =>
  isSensitive(schema)
    ? safeIssues(schema, failure)
        .map(({ path, message }) => (path.length === 0 ? message : `${message}\n  at ${path.map((key) => `[${keyText(key)}]`).join("")}`))
        .join("\n")
    : String(failure)

const keyText = (key: PropertyKey): string => (typeof key === "symbol" ? String(key) : JSON.stringify(key))
