/**
 * Properties of a SPARQL query, found in one pass over its tokens without parsing it. Queries are untrusted: any reader of a graph can
 * write one that costs as much as possible.
 */

interface Token {
  readonly kind: "iri" | "text" | "comment" | "mark" | "word"
  readonly start: number
  readonly end: number
}

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

/** Characters that end a word. */
const marks = new Set("{}()[]<>,;\"'#".split("").map((mark) => mark.charCodeAt(0)))

/** The tokens of a query. An unterminated string reaches to the end of the query. */
export function* tokensOf(sparql: string): Generator<Token> {
  let at = 0
  while (at < sparql.length) {
    const start = at
    const code = sparql.charCodeAt(at)
    if (isSpace(code)) {
      at++
      continue
    }
    const character = sparql[at]
    if (character === "#") {
      const line = sparql.indexOf("\n", at)
      at = line === -1 ? sparql.length : line
      yield { kind: "comment", start, end: at }
    } else if (character === '"' || character === "'") {
      at = textEnd(sparql, at, character)
      yield { kind: "text", start, end: at }
    } else if (character === "<") {
      at = iriEnd(sparql, at)
      yield { kind: at > start + 1 ? "iri" : "mark", start, end: at }
    } else if (marks.has(code)) {
      at++
      yield { kind: "mark", start, end: at }
    } else {
      while (at < sparql.length && !isSpace(sparql.charCodeAt(at)) && !marks.has(sparql.charCodeAt(at))) at++
      yield { kind: "word", start, end: at }
    }
  }
}

const textEnd = (sparql: string, start: number, quote: string): number => {
  const long = quote.repeat(3)
  const isLong = sparql.startsWith(long, start)
  const close = isLong ? long : quote
  for (let at = start + close.length; at < sparql.length; at++) {
    if (sparql[at] === "\\") at++
    else if (!isLong && sparql[at] === "\n") return at
    else if (sparql.startsWith(close, at)) return at + close.length
  }
  return sparql.length
}

/** The offset after the IRI, or after `<` alone where it is a comparison. */
const iriEnd = (sparql: string, start: number): number => {
  for (let at = start + 1; at < sparql.length; at++) {
    const character = sparql[at]
    if (character === ">") return at + 1
    if (character === "<" || isSpace(sparql.charCodeAt(at))) break
  }
  return start + 1
}

/**
 * The offset of the keyword of the query form (`SELECT`, `ASK`, ...), after prefixes, base and comments. The offset of a declaration
 * if it is incomplete; the length of the text if there is no keyword.
 */
export const formStart = (sparql: string): number => {
  /** The tokens that the current declaration still needs, and its offset. */
  let owed: ReadonlyArray<"name" | "iri"> = []
  let declaration = 0
  for (const { kind, start, end } of tokensOf(sparql)) {
    if (kind === "comment") continue
    const [next, ...rest] = owed
    if (next === undefined) {
      const word = kind === "word" ? sparql.slice(start, Math.min(end, start + 10)).toLowerCase() : ""
      if (word !== "prefix" && word !== "base") return start
      owed = word === "prefix" ? ["name", "iri"] : ["iri"]
      declaration = start
    } else if (next === "iri" ? kind === "iri" : kind === "word" && sparql.indexOf(":", start) === end - 1) owed = rest
    else return declaration
  }
  return owed.length === 0 ? sparql.length : declaration
}

/** How deep braces and brackets are nested. */
export const nestingOf = (sparql: string): number => {
  let [depth, deepest] = [0, 0]
  for (const { kind, start } of tokensOf(sparql)) {
    if (kind !== "mark") continue
    const mark = sparql[start] ?? ""
    if ("{([".includes(mark)) deepest = Math.max(deepest, ++depth)
    else if ("})]".includes(mark)) depth--
  }
  return deepest
}

/** The query with a space in place of each IRI, string and comment. */
export const withoutTexts = (sparql: string): string => {
  const parts: Array<string> = []
  let done = 0
  for (const { kind, start, end } of tokensOf(sparql)) {
    if (kind === "mark" || kind === "word") continue
    parts.push(sparql.slice(done, start))
    done = end
  }
  parts.push(sparql.slice(done))
  return parts.join(" ")
}
