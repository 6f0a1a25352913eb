/** Whatever was thrown, in words: a value may even refuse to be turned into text. */
export const describe = (value: unknown): string => {
  try {
    return value instanceof Error ? value.message : String(value)
  } catch {
    return "a value that cannot be shown"
  }
}
