/** The problem with one place of a value as text, in one line. */

/** One issue in one line. */
export const issueText = (path: ReadonlyArray<PropertyKey>, message: string): string => {
  const place = path.map(String).join(".")
  if (place === "") return oneLine(message)
  return message === "Missing key" ? `${place} is missing` : `${place}: ${oneLine(message)}`
}

const oneLine = (text: string): string => joinLines(text, ", ")

/** The lines of a text in one line, without the space around them and without empty ones. */
export const joinLines = (text: string, separator: string): string =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join(separator)
