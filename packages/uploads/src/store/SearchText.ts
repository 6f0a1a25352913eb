/**
 * Search text of users: words that must all occur, "phrases", words that begin like this*, and -words that must not
 * occur. Anything else counts as space.
 */
export interface SearchTerm {
  /** The words of a phrase, or one word; letters and digits only, lower case, without accents. */
  readonly words: ReadonlyArray<string>
  /** The last word only has to begin like this. */
  readonly prefix: boolean
  readonly excluded: boolean
}

/** A text as the words it consists of, the way both databases index it. */
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
