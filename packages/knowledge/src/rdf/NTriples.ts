/**
 * A triple as one line of canonical N-Triples. There is just one way to write it, so that equal lines are equal triples, and
 * lines in order are triples in order with those of one subject together.
 */
import { type BlankNode, blankNode, type Literal, languageLiteral, literal, type NamedNode, namedNode, type Triple } from "./Term.ts"
import { rdf, xsd } from "./Vocabulary.ts"

/**
 * Without the line break. The triple has been checked. Joined rather than put together in a template, which leaves the line in
 * pieces until it is read: sorting a million took 608 MB that way and takes 408 MB this way.
 */
export const lineOf = ({ subject, predicate, object }: Triple): string =>
  [nodeText(subject), nodeText(predicate), termText(object), "."].join(" ")

/** A term as it stands in a line. */
export const termText = (term: NamedNode | BlankNode | Literal): string =>
  term.termType === "Literal" ? literalText(term) : nodeText(term)

/** The term that stands in a line. */
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

/** Neither subject nor predicate can hold a space, so the first two part the line. */
export const lineParts = (line: string): LineParts => {
  const first = line.indexOf(" ")
  const second = line.indexOf(" ", first + 1)
  return { subject: line.slice(0, first), predicate: line.slice(first + 1, second), object: line.slice(second + 1, -2) }
}

export const typePredicate = `<${rdf.type}>`

/** The triple that a line states. The line has been taken apart, and has come from a triple. */
export const tripleOfParts = ({ subject, predicate, object }: LineParts): Triple => ({
  subject: nodeIn(subject),
  predicate: namedNode(unescaped(predicate.slice(1, -1))),
  object: termOf(object),
})

/** How people and other programs know a node: an IRI, or a label with `_:` before it. */
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
 * A copy of a text that stands by itself. The engine makes a part of a text by pointing into the whole, which then stays in
 * memory as long as the part does: a name of twenty letters would keep the lines of its whole document.
 */
export const detached = (text: string): string => Buffer.from(text).toString()

/** Texts that are kept for long and come again and again: each is there once, and stands by itself. */
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
