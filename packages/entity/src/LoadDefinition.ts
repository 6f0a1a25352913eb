/** Decodes and checks data or text. Returns a valid definition, or the list of its problems. */

import { nearest } from "@detent/machine/Nearest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import { checkDefinition, type KnownNames } from "./CheckDefinition.ts"
import { EntityWorkflowError, type Path, type Problem, pathText, problemLimit, type WorkflowProblem } from "./EntityWorkflowError.ts"
import * as JsonText from "./JsonText.ts"
import { TransitionDefinition, WorkflowDefinition } from "./WorkflowDefinition.ts"

type Loaded = Result.Result<WorkflowDefinition, EntityWorkflowError>

/** Loads a definition from data of any type. */
export const loadData = (data: unknown, known: KnownNames): Loaded => {
  const checked = check(data, known)
  if (Result.isSuccess(checked)) return Result.succeed(checked.success)
  const name = (data as { readonly name?: unknown } | null | undefined)?.name
  return Result.fail(
    new EntityWorkflowError({
      source: typeof name === "string" ? `entity workflow ${name}` : "entity workflow",
      problems: checked.failure.map(({ path, problem }) => ({ path: pathText(path), problem })),
    }),
  )
}

/** Loads a definition from text. Problems have their line and column in the text. */
export const loadText = (text: string, source: string, known: KnownNames): Loaded => {
  const failed = (problems: ReadonlyArray<WorkflowProblem>) => Result.fail(new EntityWorkflowError({ source, problems }))
  const parsed = JsonText.parse(text)
  if ("problem" in parsed) return failed([{ path: "", ...parsed }])
  const duplicates = parsed.problems.slice(0, problemLimit).map((problem) => ({ path: "", ...problem }))
  const checked = check(parsed.value, known)
  if (Result.isSuccess(checked) && duplicates.length === 0) return Result.succeed(checked.success)
  const problems = Result.isSuccess(checked) ? [] : checked.failure
  return failed(
    [...duplicates, ...problems.map(({ path, problem }) => ({ path: pathText(path), problem, ...parsed.positionOf(path) }))]
      .sort((a, b) => a.line - b.line || a.column - b.column)
      .slice(0, problemLimit),
  )
}

const decode = Schema.decodeUnknownResult(WorkflowDefinition)

const issuesOf = SchemaIssue.makeFormatterStandardSchemaV1()

const check = (data: unknown, known: KnownNames): Result.Result<WorkflowDefinition, ReadonlyArray<Problem>> => {
  const decoded = decode(data, { errors: "all", onExcessProperty: "error" })
  if (Result.isFailure(decoded)) {
    const { issues } = issuesOf(decoded.failure.issue)
    return Result.fail(issues.slice(0, problemLimit).map(({ path, message }) => describe((path ?? []) as Path, message)))
  }
  const problems = checkDefinition(decoded.success, known)
  return problems.length === 0 ? Result.succeed(decoded.success) : Result.fail(problems)
}

const fieldNames = Object.keys(WorkflowDefinition.fields)
const transitionFieldNames = Object.keys(TransitionDefinition.fields)

/** Describes a schema issue. For an unknown field, suggests the nearest known name. */
const describe = (path: Path, message: string): Problem => {
  if (message !== "Expected no excess property") return { path, problem: `${pathText(path)}: ${message}` }
  const name = String(path.at(-1))
  const meant = nearest(name, path.length === 1 ? fieldNames : transitionFieldNames)
  const hint = meant === undefined ? "remove it" : `did you mean ${JSON.stringify(meant)}?`
  return { path, problem: `there is no field ${JSON.stringify(name)} here; ${hint}` }
}
