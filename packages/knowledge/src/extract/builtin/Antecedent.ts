/**
 * What a relative clause or an apposition is about: in "The Halcyon, which is captained by Ada Sol" and in "Baltmar, a
 * shipping line based in Elsing" the name before the comma, whatever the sentence as a whole is about.
 */
import { pronouns } from "../language/FunctionWords.ts"
import type { Candidate } from "./Candidates.ts"
import { isOneName } from "./ObjectFeatures.ts"
import type { SentenceView } from "./SentenceView.ts"

const relatives: ReadonlySet<string> = new Set(["who", "which", "whose", "where"])
const articles: ReadonlySet<string> = new Set(["a", "an", "the"])

/** Farther back there is mostly another clause between. */
const farthest = 14

/** The candidate that the clause of a place is about; undefined when it is the clause of the whole sentence. */
export const antecedentOf = (view: SentenceView, candidates: ReadonlyArray<Candidate>, place: number): number | undefined => {
  for (let at = place - 1; at > 0 && at > place - farthest; at--) {
    const word = view.words[at] ?? ""
    // "Elsing, where she lives": the clause has a subject of its own.
    if (relatives.has(word) && pronouns.has(view.words[at + 1] ?? "")) return undefined
    if (relatives.has(word)) return nameEnding(view, candidates, view.words[at - 1] === "," ? at - 2 : at - 1)
    // "Kell, the Netherlands" is a list; "Kell, the port" says what Kell is.
    if (word === "," && articles.has(view.words[at + 1] ?? "") && !view.capital[at + 2]) return nameEnding(view, candidates, at - 1)
    if (word === "," || word === ";") return undefined
  }
  return undefined
}

/** The longest name that ends at a token. */
const nameEnding = (view: SentenceView, candidates: ReadonlyArray<Candidate>, last: number): number | undefined => {
  let found: number | undefined
  candidates.forEach((candidate, at) => {
    if (candidate.last !== last || !isOneName(view, candidate) || candidate.kind === "date") return
    if (found === undefined || candidate.first < candidates[found]!.first) found = at
  })
  return found
}
