/** The text of any thrown value, also of one that cannot be turned into text. */
export const describe = (value: unknown): string => {
  try {
    return value instanceof Error ? value.message : String(value)
  } catch {
    return "a value that cannot be shown"
  }
}

/** The innermost cause of a failed request names the address or the name that did not answer, and never a header. */
export const innermostReason = (error: unknown): string => {
  let inner = error
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause !== undefined; depth++) inner = inner.cause
  const said = describe(inner)
  return said === "" && inner instanceof Error && "code" in inner && typeof inner.code === "string" ? inner.code : said
}

/** The next step for a file that is in none of the folders that may be read. */
export const openingStep = "put the file below the data folder, or run `detent batch run` on its folder once"
