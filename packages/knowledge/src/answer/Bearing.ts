/**
 * Which facts bear on a question: those that share its names and its other words. Words are compared by their roots, so that "founded" meets
 * "founder". This needs no model, and says nothing that is not in the graph.
 */

import type { SourcedFact } from "../graph/GraphFacts.ts"
import { localName } from "../rdf/Vocabulary.ts"
import { stem } from "../text/Stem.ts"
import { fold, isFunctionWord, tokenize } from "../text/Words.ts"

/** The words of a question that a fact can share. */
export interface Asked {
  /** The words of each name, by their roots. */
  readonly names: ReadonlyArray<ReadonlyArray<string>>
  /** The roots of the other words. */
  readonly words: ReadonlyArray<string>
  /** Parts of words for the search: each fact that shares a root has one of them. */
  readonly parts: ReadonlyArray<string>
}

/** Words that ask, or name what is asked for. */
const questionWords = new Set(["who", "whom", "whose", "what", "which", "when", "where", "why", "how", "tell", "list", "name", "give"])

/** The most words of a question that are looked for. */
const mostWords = 24

export const askedIn = (question: string): Asked => {
  const names: Array<Array<string>> = []
  const words: Array<string> = []
  const parts = new Set<string>()
  let before = Number.NEGATIVE_INFINITY
  for (const [at, token] of tokenize(question).entries()) {
    const word = fold(token.text)
    if (token.kind === "mark" || isFunctionWord(word) || questionWords.has(word) || parts.size >= mostWords) continue
    const root = stem(word)
    parts.add(word.startsWith(root) ? root : word)
    if (!/^[\p{Lu}\p{N}]/u.test(token.text)) {
      words.push(root)
      continue
    }
    if (at === before + 1) names.at(-1)?.push(root)
    else names.push([root])
    before = at
  }
  return { names, words, parts: [...parts] }
}

/** A fact that has no name of the question bears on it only if it has this share of its words. */
const leastShare = 0.5

/** A name says more of what is meant than another word. */
const weightOfName = 2

/**
 * How much of the question a fact has, from 0 to 1; 0 if it does not bear on it. A question with names is about these: a fact needs one of
 * them as a whole.
 */
export const bearingOf = ({ names, words }: Asked, fact: SourcedFact): number => {
  const roots = rootsOf(fact)
  const named = names.filter((name) => name.every((root) => roots.has(root))).length
  const shared = words.filter((root) => roots.has(root)).length
  const total = names.length * weightOfName + words.length
  const share = total === 0 ? 0 : (named * weightOfName + shared) / total
  if (names.length > 0) return named > 0 ? share : 0
  return share >= leastShare ? share : 0
}

const rootsOf = ({ quote, subject, object, property }: SourcedFact): ReadonlySet<string> => {
  const ends = [subject.label, object._tag === "Value" ? object.text : object.label]
  const ofProperty = localName(property).replace(/(?<=\p{Ll})(?=\p{Lu})/gu, " ")
  const text = [quote, ...ends, ofProperty].filter((part) => part !== undefined).join(" ")
  return new Set(tokenize(text).map((token) => stem(fold(token.text))))
}
