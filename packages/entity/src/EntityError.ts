/** The error that is recorded with an entity whose transition failed. */
import * as Schema from "effect/Schema"

export const EntityError = Schema.Struct({
  transition: Schema.String,
  /** The processor that failed. */
  processor: Schema.optionalKey(Schema.String),
  /** The criterion that did not hold for the result of the processors. */
  criterion: Schema.optionalKey(Schema.String),
  message: Schema.String,
  /** The failure and its causes, one per line, outermost first. Absent where the failure has no cause. */
  cause: Schema.optionalKey(Schema.String),
  /** How often the processor has been tried. */
  attempts: Schema.Int,
  /** When the error was recorded, in milliseconds since 1970. */
  at: Schema.Finite,
})
export type EntityError = typeof EntityError.Type

const longest = 2000

/** The text of any thrown value, short enough to be stored. */
export const failureMessage = (failure: unknown): string => {
  const text = textOf(failure)
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`
}

const causeLimit = 10

/**
 * A failure with its causes, each as `Name: message` in one line. Undefined where it has no causes. Omits stack traces, because users of
 * an API see these errors.
 */
export const failureCause = (failure: unknown): string | undefined => {
  const lines: Array<string> = []
  for (let one = failure; one !== undefined && one !== null && lines.length < causeLimit; one = causeOf(one)) lines.push(lineOf(one))
  return lines.length < 2 ? undefined : failureMessage(lines.join("\n"))
}

const causeOf = (failure: unknown): unknown => propertyOf(failure, "cause")

const lineOf = (failure: unknown): string => {
  const text = textOf(failure).replaceAll("\n", " ")
  const label = propertyOf(failure, "_tag") ?? propertyOf(failure, "name")
  return typeof label === "string" && label !== text ? `${label}: ${text}` : text
}

const propertyOf = (failure: unknown, name: string): unknown => {
  try {
    return typeof failure === "object" && failure !== null ? Reflect.get(failure, name) : undefined
  } catch {
    // A getter of the failure threw, so the value is unknown.
    return undefined
  }
}

const textOf = (failure: unknown): string => {
  try {
    if (typeof failure !== "object" || failure === null) return String(failure)
    const { message, _tag } = failure as { readonly message?: unknown; readonly _tag?: unknown }
    if (typeof message === "string" && message !== "") return message
    return typeof _tag === "string" ? _tag : (JSON.stringify(failure) ?? String(failure))
  } catch {
    return "a failure that cannot be shown"
  }
}
