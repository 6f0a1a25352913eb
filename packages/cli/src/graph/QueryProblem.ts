/** Why a SPARQL query is refused, in few words: a parser lists every token that it would have taken. */
import type { QueryRefused } from "@detent/knowledge"
import { WrongUsage } from "../Failure.ts"

const mostTokens = 5

/** An update is recognised by its first word after prefixes, base and comments. */
const update = /^(\s|#[^\n]*\n|prefix\s+[^\s:]*:\s*<[^>]*>|base\s*<[^>]*>)*(insert|delete|clear|drop|create|load|copy|move|add|with)\b/i

export const queryProblem = (sparql: string, { problem }: QueryRefused): WrongUsage => {
  if (update.test(sparql))
    return new WrongUsage({
      problem: "the graph is not changed by a query",
      nextStep: "only SELECT, ASK, CONSTRUCT, DESCRIBE are answered",
    })
  const [, place = "", expected = ""] = /^error at (\d+:\d+): expected ([\s\S]*)$/.exec(problem) ?? []
  if (place === "") return new WrongUsage({ problem: `the query was refused: ${problem}`, nextStep: "correct it" })
  const wrong = expected.includes("Prefix not found") ? "the prefix is not declared" : `expected ${tokensText(expected)}`
  return new WrongUsage({ problem: `the query was refused at ${place} (line:column): ${wrong}`, nextStep: "correct it there" })
}

/** Classes of characters say nothing to people. */
const tokensText = (expected: string): string => {
  const tokens = [...expected.replace(/^one of /, "").matchAll(/"(?:\\.|[^"\\])*"|\[[^\]]*\]|[^\s,]+/g)].map(([token]) => token)
  const words = tokens.filter((token) => !token.startsWith("["))
  if (words.length === 0) return "something else"
  return words.length <= mostTokens ? words.join(", ") : `one of ${words.slice(0, mostTokens).join(", ")} and others`
}
