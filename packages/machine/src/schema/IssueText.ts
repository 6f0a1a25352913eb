/** The problem with one place of a value as text, in one line. */
import { unknownKeyText } from "./Nearest.ts"

/** What is wrong at one place of a value. */
export type Problem =
  /** `message` is that of the user's schema, if it has one. */
  | { readonly _tag: "Missing"; readonly message?: string }
  /** The key is none of those that the schema knows. */
  | { readonly _tag: "Unknown"; readonly known: ReadonlyArray<string> }
  /** The schema library says what it expected; it does not quote the value. */
  | { readonly _tag: "Misfit"; readonly message: string }
  /** The user's schema says it, and may quote the value. */
  | { readonly _tag: "Custom"; readonly message: string }

export const issueText = (path: ReadonlyArray<PropertyKey>, problem: Problem): string => {
  const place = path.map(String).join(".")
  switch (problem._tag) {
    case "Missing":
      return problem.message === undefined ? `${place} is missing` : `${place}: ${oneLine(problem.message)}`
    case "Unknown":
      return unknownKeyText(place, problem.known)
    case "Misfit":
    case "Custom":
      return place === "" ? oneLine(problem.message) : `${place}: ${oneLine(problem.message)}`
  }
}

const oneLine = (text: string): string => joinLines(text, ", ")

/** The lines of a text in one line, without the space around them and without empty ones. */
export const joinLines = (text: string, separator: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(separator)
