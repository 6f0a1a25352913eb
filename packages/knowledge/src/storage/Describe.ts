/** The message of any thrown value, even of one whose conversion to a string throws. */
export const describe = (value: unknown): string => {
  try {
    return value instanceof Error ? value.message : String(value)
  } catch {
    return "a value that cannot be shown"
  }
}

/** The message of the innermost cause. For a failed request, it names the host that did not answer, and never contains a header. */
export const innermostReason = (error: unknown): string => {
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause !== undefined; depth++) inner = inner.cause
  const said = describe(inner)
  return said === "" && inner instanceof Error && "code" in inner && typeof inner.code === "string" ? inner.code : said
}

/** The next step for a file outside of the readable folders. */
export const openingStep = "put the file below the data folder, or run `detent batch run` on its folder once"
