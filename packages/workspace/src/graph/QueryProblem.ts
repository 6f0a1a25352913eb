/**
 * Explains briefly why a SPARQL query is refused. The parser's own message lists every token that it would have accepted, and does
 * not name an unknown keyword or an undeclared prefix.
 */
import { QueryRefused, SparqlText } from "@detent/knowledge"

const mostTokens = 5

/** How much of a word is shown. */
const longestWord = 40

const forms = ["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]
const updates = ["INSERT", "DELETE", "CLEAR", "DROP", "CREATE", "LOAD", "COPY", "MOVE", "ADD", "WITH"]

export const explained = (sparql: string, { problem }: QueryRefused): QueryRefused =>
  new QueryRefused({ problem: reasonOf(sparql, problem) })

const reasonOf = (sparql: string, problem: string): string => {
  const begin = SparqlText.formStart(sparql)
  if (begin === sparql.length) return `it is empty; begin with ${anyOf(forms)}`
  const [word = ""] = /^[^\s{}()<>?*]+/.exec(sparql.slice(begin)) ?? []
  const keyword = word.toUpperCase()
  if (updates.includes(keyword)) return `it would change the graph; only ${forms.join(", ")} are answered`
  if (![...forms, "PREFIX", "BASE"].includes(keyword))
    return `at ${placeOf(sparql, begin)} (line:column) ${word.slice(0, longestWord) || sparql[begin]} does not begin a query; begin with ${anyOf(forms)}`
  const prefix = undeclared(sparql)
  if (prefix !== undefined)
    return `the prefix ${prefix.slice(0, longestWord)}: is not declared; write PREFIX ${prefix.slice(0, longestWord)}: <…> before it`
  const [, place = "", expected = ""] = /^error at (\d+:\d+): expected ([\s\S]*)$/.exec(problem) ?? []
  return place === "" ? `${problem}; correct it` : `at ${place} (line:column) expected ${tokensText(expected)}; correct it there`
}

const anyOf = (words: ReadonlyArray<string>): string => `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

const placeOf = (text: string, index: number): string => {
  const lines = text.slice(0, index).split("\n")
  return `${lines.length}:${(lines.at(-1) ?? "").length + 1}`
}

/** The first prefix that is used and not declared. Addresses, texts and comments are skipped. */
const undeclared = (sparql: string): string | undefined => {
  const bare = SparqlText.withoutTexts(sparql)
  const declared = new Set([...bare.matchAll(/prefix\s+([^\s:]*):/gi)].map(([, name]) => name))
  return [...bare.matchAll(/(?<![\w?$@^.:-])([A-Za-z][\w.-]*):/g)].map(([, name]) => name).find((name) => !declared.has(name))
}

/** Character classes are left out: they do not help users. */
const tokensText = (expected: string): string => {
  const tokens = [...expected.replace(/^one of /, "").matchAll(/"(?:\\.|[^"\\])*"|\[[^\]]*\]|[^\s,]+/g)].map(([token]) => token)
  const words = tokens.filter((token) => !token.startsWith("["))
  if (words.length === 0) return "something else"
  return words.length <= mostTokens ? words.join(", ") : `one of ${words.slice(0, mostTokens).join(", ")} and others`
}
