/** Schema errors as text. The message of a user's check may quote the value, so it is not shown at a sensitive place. */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as SchemaIssue from "effect/SchemaIssue"
import { issueText, type Problem } from "./IssueText.ts"
import { secretDepth } from "./Sensitive.ts"

/** The failure of a decoder. */
export type SchemaFailure = Pick<Schema.SchemaError, "issue">

export interface ValueIssue {
  readonly path: ReadonlyArray<PropertyKey>
  readonly problem: Problem
}

export interface SafeIssue extends ValueIssue {
  /** Whether the value at the path, which ends at the first sensitive place, must not be shown. */
  readonly secret: boolean
}

/** Each place that does not fit, with what is wrong there. */
export const issuesOf = ({ issue }: SchemaFailure): ReadonlyArray<ValueIssue> => issuesIn(issue, [], undefined)

/** `above` is the problem of a check: it stands for everything that its check found. */
const issuesIn = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>, above: Problem | undefined): ReadonlyArray<ValueIssue> => {
  switch (issue._tag) {
    case "Filter":
      return issuesIn(issue.issue, path, above ?? problemOfCheck(issue))
    case "Encoding":
      return issuesIn(issue.issue, path, above)
    case "Pointer":
      return issuesIn(issue.issue, [...path, ...issue.path], above)
    case "Composite":
      return issue.issues.flatMap((one) => issuesIn(one, path, above))
    case "AnyOf":
      return issue.issues.length > 0
        ? issue.issues.flatMap((one) => issuesIn(one, path, above))
        : [{ path, problem: above ?? { _tag: "Misfit", message: messageOf(issue) } }]
    default:
      return [{ path, problem: above ?? problemOfLeaf(issue) }]
  }
}

/** Undefined: what the check found says it. */
const problemOfCheck = (issue: SchemaIssue.Filter): Problem | undefined => {
  const message = SchemaIssue.defaultCheckHook(issue)
  if (message !== undefined) return { _tag: "Custom", message }
  return issue.issue._tag === "InvalidValue" ? { _tag: "Misfit", message: messageOf(issue) } : undefined
}

const problemOfLeaf = (issue: SchemaIssue.Leaf): Problem => {
  const message = SchemaIssue.defaultLeafHook(issue)
  if (issue._tag === "MissingKey")
    return issue.annotations?.["messageMissingKey"] === undefined ? { _tag: "Missing" } : { _tag: "Missing", message }
  if ("annotations" in issue && issue.annotations?.["message"] !== undefined) return { _tag: "Custom", message }
  if (issue._tag === "UnexpectedKey") return { _tag: "Unknown", known: namesOf(issue.ast) }
  return { _tag: "Misfit", message }
}

const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  SchemaAST.isObjects(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** The sentence of Effect for an issue without inner ones. */
const messageOf = (issue: SchemaIssue.Filter | SchemaIssue.AnyOf): string => format(issue).issues[0]?.message ?? unexplained

const unexplained = "Expected a valid value"

export const safeIssues = (schema: Schema.Constraint, failure: SchemaFailure): ReadonlyArray<SafeIssue> =>
  issuesOf(failure).map(({ path, problem }) => {
    const depth = secretDepth(schema, path)
    if (depth === undefined) return { path, problem, secret: false }
    const isHidden = problem._tag === "Custom" || depth < path.length
    return { path: path.slice(0, depth), problem: isHidden ? { _tag: "Misfit", message: unexplained } : problem, secret: true }
  })

/** The places that do not fit, without their values. */
export const pathsOf = (failure: SchemaFailure): ReadonlyArray<string> =>
  issuesOf(failure)
    .map(({ path }) => path.map(String).join("."))
    .filter((path) => path !== "")

/** The failure in one line, each field by its name, without secrets: `n: Expected an integer; address.street is missing`. */
export const schemaProblem = (schema: Schema.Constraint, failure: SchemaFailure): string =>
  safeIssues(schema, failure)
    .map(({ path, problem }) => issueText(path, problem))
    .join("; ")
