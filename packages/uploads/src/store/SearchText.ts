/**
 * Parses the search text of users: words that must all occur, "phrases", prefixes like this*, and -words that must not occur. All other
 * characters count as space.
 */
export interface SearchTerm {
  /** The words of a phrase, or one word; letters and digits only, lower case, without accents. */
  readonly words: ReadonlyArray<string>
  /** Whether the last word is a prefix. */
  readonly prefix: boolean
  readonly excluded: boolean
}

/** The words of a text, as both databases index them. */
export const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

export const parseSearch = (text: string): ReadonlyArray<SearchTerm> =>
  [...text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)].flatMap(([, sign, phrase, word]): ReadonlyArray<SearchTerm> => {
    const words = wordsOf(phrase ?? word ?? "")
    if (words.length === 0) return []
    return [{ words, prefix: phrase === undefined && word?.endsWith("*") === true, excluded: sign === "-" }]
  })
