/**
 * RDF as plain data, in the shape that RDF/JS libraries share. Terms are checked before they are written, so no file contains an IRI
 * with forbidden characters or malformed Unicode.
 */
import * as Schema from "effect/Schema"
import { rdf, xsd } from "./Vocabulary.ts"

export interface NamedNode {
  readonly termType: "NamedNode"
  readonly value: string
}

export interface BlankNode {
  readonly termType: "BlankNode"
  readonly value: string
}

export interface Literal {
  readonly termType: "Literal"
  readonly value: string
  /** Empty when there is none. */
  readonly language: string
  readonly datatype: NamedNode
}

export interface Triple {
  readonly subject: NamedNode | BlankNode
  readonly predicate: NamedNode
  readonly object: NamedNode | BlankNode | Literal
}

export const namedNode = (value: string): NamedNode => ({ termType: "NamedNode", value })

export const blankNode = (value: string): BlankNode => ({ termType: "BlankNode", value })

/** A literal without a language. Default datatype: `xsd:string`. */
export const literal = (value: string, datatype: string = xsd.string): Literal => ({
  termType: "Literal",
  value,
  language: "",
  datatype: namedNode(datatype),
})

/** A literal in a language. Language tags are case-insensitive, so they are stored in lower case. */
export const languageLiteral = (value: string, language: string): Literal => ({
  termType: "Literal",
  value,
  language: language.toLowerCase(),
  datatype: namedNode(rdf.langString),
})

export const triple = (subject: Triple["subject"], predicate: string, object: Triple["object"]): Triple => ({
  subject,
  predicate: namedNode(predicate),
  object,
})

/** A term that has no valid N-Triples form. */
export class InvalidTerm extends Schema.TaggedError<InvalidTerm>()("InvalidTerm", {
  term: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${JSON.stringify(this.term)} ${this.problem}; correct the program or data it comes from`
  }
}

export const checkTriple = ({ subject, predicate, object }: Triple): InvalidTerm | undefined =>
  checkNode(subject) ?? checkIri(predicate.value) ?? (object.termType === "Literal" ? checkLiteral(object) : checkNode(object))

/** The problem with an IRI, if any: it must be absolute, and contain no character that is forbidden between angle brackets. */
export const checkIri = (iri: string): InvalidTerm | undefined => {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(iri)) return new InvalidTerm({ term: iri, problem: "is not an absolute IRI" })
  const found = forbiddenInIris.exec(iri)
  if (found !== null) return new InvalidTerm({ term: iri, problem: `contains ${JSON.stringify(found[0])}, which is not allowed in an IRI` })
  return iri.isWellFormed() ? undefined : new InvalidTerm({ term: iri, problem: "contains an unpaired surrogate" })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern finds control characters.
const forbiddenInIris = /[\u0000-\u0020<>"{}|^`\\]/

const checkNode = (node: NamedNode | BlankNode): InvalidTerm | undefined => {
  if (node.termType === "NamedNode") return checkIri(node.value)
  return blankNodeLabel.test(node.value) ? undefined : new InvalidTerm({ term: node.value, problem: "is not a valid blank node label" })
}

/** Letters of any script, by the ranges of Turtle and N-Triples. A label may contain dots, but not start or end with one. */
const letters =
  "A-Za-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}\\u{200D}\\u{2070}-\\u{218F}" +
  "\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}"
const within = `${letters}0-9_\\-\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}`
const blankNodeLabel = new RegExp(`^[${letters}0-9_](?:[${within}.]*[${within}])?$`, "u")

const checkLiteral = ({ value, language, datatype }: Literal): InvalidTerm | undefined => {
  if (!value.isWellFormed()) return new InvalidTerm({ term: value, problem: "contains an unpaired surrogate" })
  if (language === "") return checkIri(datatype.value)
  return /^[a-z]{1,8}(-[a-z0-9]{1,8})*$/.test(language)
    ? undefined
    : new InvalidTerm({ term: language, problem: "is not a language tag in lower case" })
}
