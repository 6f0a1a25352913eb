/** Whatever was thrown, in words: a value may even refuse to be turned into text. */
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
