/**
 * A triple as one line of canonical N-Triples. Each triple has exactly one line, so equal lines are equal triples, and sorting lines
 * sorts triples, with those of one subject adjacent.
 */
import { type BlankNode, blankNode, type Literal, languageLiteral, literal, type NamedNode, namedNode, type Triple } from "./Term.ts"
import { rdf, xsd } from "./Vocabulary.ts"

/**
 * The line without its line break. The caller has checked the triple. Uses `join`, since a template literal creates a rope string
 * that retains its pieces: sorting a million lines took 608 MB with templates and takes 408 MB with `join`.
 */
export const lineOf = ({ subject, predicate, object }: Triple): string =>
  [nodeText(subject), nodeText(predicate), termText(object), "."].join(" ")

/** The N-Triples text of a term. */
export const termText = (term: NamedNode | BlankNode | Literal): string =>
  term.termType === "Literal" ? literalText(term) : nodeText(term)

/** The term of an N-Triples text. */
export const termOf = (text: string): NamedNode | BlankNode | Literal => {
  if (!text.startsWith('"')) return nodeIn(text)
  const end = text.lastIndexOf('"')
  const value = unescaped(text.slice(1, end))
  const rest = text.slice(end + 1)
  if (rest.startsWith("@")) return languageLiteral(value, rest.slice(1))
  return literal(value, rest.startsWith("^^<") ? unescaped(rest.slice(3, -1)) : xsd.string)
}

export interface LineParts {
  readonly subject: string
  readonly predicate: string
  readonly object: string
}

/** Neither subject nor predicate can contain a space, so the first two spaces separate the parts. */
export const lineParts = (line: string): LineParts => {
  const first = line.indexOf(" ")
  const second = line.indexOf(" ", first + 1)
  return { subject: line.slice(0, first), predicate: line.slice(first + 1, second), object: line.slice(second + 1, -2) }
}

export const typePredicate = `<${rdf.type}>`

/** The triple of a line that `lineOf` wrote and `lineParts` split. */
export const tripleOfParts = ({ subject, predicate, object }: LineParts): Triple => ({
  subject: nodeIn(subject),
  predicate: namedNode(unescaped(predicate.slice(1, -1))),
  object: termOf(object),
})

/** A node's name for users and other programs: an IRI, or a blank node label with its `_:`. */
export const nameOfNode = (text: string): string => (text.startsWith("_:") ? text : termOf(text).value)

const nodeIn = (text: string): NamedNode | BlankNode =>
  text.startsWith("<") ? namedNode(unescaped(text.slice(1, -1))) : blankNode(text.slice(2))

const nodeText = (node: NamedNode | BlankNode): string => (node.termType === "NamedNode" ? `<${escaped(node.value)}>` : `_:${node.value}`)

const literalText = ({ value, language, datatype }: Literal): string => {
  const text = `"${escaped(value)}"`
  if (language !== "") return `${text}@${language}`
  return datatype.value === xsd.string ? text : `${text}^^${nodeText(datatype)}`
}

const escaped = (text: string): string => (needsEscape.test(text) ? text.replace(needsEscapeEach, escape) : text)

const needsEscape = /[^ !#-[\]-~\u0080-\ufffd]/
const needsEscapeEach = new RegExp(needsEscape.source, "g")

const shortEscapes: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
  "\b": "\\b",
  "\f": "\\f",
}

const escape = (character: string): string =>
  shortEscapes[character] ?? `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`

const unescaped = (text: string): string =>
  text.includes("\\")
    ? text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/gs, (_, four, eight, letter) =>
        letter === undefined ? String.fromCodePoint(Number.parseInt(four ?? eight, 16)) : (meanings[letter] ?? letter),
      )
    : text

const meanings: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" }

/**
 * A copy of a string with its own memory. The engine represents a slice as a pointer into its parent string, which stays in memory as
 * long as the slice: a name of twenty letters would retain the lines of its whole document.
 */
export const detached = (text: string): string => Buffer.from(text).toString()

/** Interns strings that are long-lived and repeated: each is stored once, detached from its parent string. */
export class KeptTexts {
  readonly #texts = new Map<string, string>()

  of(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    const own = detached(text)
    this.#texts.set(own, own)
    return own
  }
}
