/** The sentences of a text, each with its exact place. Together they cover everything but the space between them. */
import type { Span } from "../extract/Fact.ts"
import { sentenceEnd } from "./SentenceBoundary.ts"

export const splitSentences = (text: string): ReadonlyArray<Span> => {
  const sentences: Array<Span> = []
  let start = skipSpace(text, 0)
  while (start < text.length) {
    const end = sentenceEnd(text, start, true) ?? text.length
    sentences.push({ start, end })
    start = skipSpace(text, end)
  }
  return sentences
}

export const skipSpace = (text: string, from: number): number => {
  let at = from
  while (at < text.length && /\s/.test(text[at] ?? "")) at++
  return at
}
