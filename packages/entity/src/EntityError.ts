/** The error that is recorded with an entity whose transition failed. */
import * as Schema from "effect/Schema"

export const EntityError = Schema.Struct({
  transition: Schema.String,
  /** The processor that failed. */
  processor: Schema.optionalKey(Schema.String),
  /** The criterion that did not hold for what the processors had made. */
  criterion: Schema.optionalKey(Schema.String),
  message: Schema.String,
  /** How often the processor has been tried. */
  attempts: Schema.Int,
  /** When it was recorded, in milliseconds since 1970. */
  at: Schema.Finite,
})
export type EntityError = typeof EntityError.Type

const longest = 2000

/** A failure as text that can be stored, for any value that was thrown. */
export const failureMessage = (failure: unknown): string => {
  const text = textOf(failure)
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`
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
