/** Why an entity workflow is not valid: all problems, each with its place in the file. */
import * as Schema from "effect/Schema"

export const WorkflowProblem = Schema.Struct({
  /** The path in the data, such as `transitions[3].to`. */
  path: Schema.String,
  problem: Schema.String,
  /** The position in the text, counted from 1. Absent where the workflow was not read from text. */
  line: Schema.optionalKey(Schema.Int),
  column: Schema.optionalKey(Schema.Int),
})
export type WorkflowProblem = typeof WorkflowProblem.Type

const shown = 20

/** The most problems that are collected and shown. */
export const problemLimit = 100

export class EntityWorkflowError extends Schema.TaggedError<EntityWorkflowError>()("EntityWorkflowError", {
  /** The file, or the name of the workflow where there is no file. */
  source: Schema.String,
  problems: Schema.Array(WorkflowProblem),
}) {
  override get message() {
    const lines = this.problems.slice(0, shown).map(({ path, problem, line, column }) => {
      const place = line === undefined ? `${this.source}: ${path === "" ? "" : `${path}: `}` : `${this.source}:${line}:${column}: `
      return `${place}${problem}`
    })
    const left = this.problems.length - lines.length
    const more = this.problems.length >= problemLimit ? "many" : String(left)
    return [...lines, ...(left > 0 ? [`${this.source}: and ${more} more problems`] : [])].join("\n")
  }
}

/** A step into data: the name of a field, or a position in a list. */
export type Path = ReadonlyArray<string | number>

/** A problem without its position in the text. */
export interface Problem {
  readonly path: Path
  readonly problem: string
}

/** A path in the notation of JavaScript. */
export const pathText = (path: Path): string =>
  path.map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`)).join("")
