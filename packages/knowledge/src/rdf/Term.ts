/**
 * RDF as plain data, in the shape that RDF/JS libraries share. A term is checked before it is written: what would end an IRI
 * early, or is not text at all, never reaches a file.
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

/** Text as it is, of a datatype where one is given. */
export const literal = (value: string, datatype: string = xsd.string): Literal => ({
  termType: "Literal",
  value,
  language: "",
  datatype: namedNode(datatype),
})

/** Text in a language. Tags are the same in capitals or not, so they are kept in small letters. */
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

/** A term that cannot be written without becoming another one. */
export class InvalidTerm extends Schema.TaggedError<InvalidTerm>()("InvalidTerm", {
  term: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${JSON.stringify(this.term)} ${this.problem}; correct it where it was made`
  }
}

export const checkTriple = ({ subject, predicate, object }: Triple): InvalidTerm | undefined =>
  checkNode(subject) ?? checkIri(predicate.value) ?? (object.termType === "Literal" ? checkLiteral(object) : checkNode(object))

/** The problem with an IRI, if any: it must be absolute, and hold nothing that the angle brackets around it do not. */
export const checkIri = (iri: string): InvalidTerm | undefined => {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(iri)) return new InvalidTerm({ term: iri, problem: "is not an absolute IRI" })
  const found = forbiddenInIris.exec(iri)
  if (found !== null) return new InvalidTerm({ term: iri, problem: `holds ${JSON.stringify(found[0])}, which no IRI may` })
  return iri.isWellFormed() ? undefined : new InvalidTerm({ term: iri, problem: "holds half of a character" })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const forbiddenInIris = /[\u0000-\u0020<>"{}|^`\\]/

const checkNode = (node: NamedNode | BlankNode): InvalidTerm | undefined => {
  if (node.termType === "NamedNode") return checkIri(node.value)
  return blankNodeLabel.test(node.value) ? undefined : new InvalidTerm({ term: node.value, problem: "is not a label of a blank node" })
}

/** Letters of any script, by the ranges that Turtle and N-Triples give; dots only within. */
const letters =
  "A-Za-z\\u{C0}-\\u{D6}\\u{D8}-\\u{F6}\\u{F8}-\\u{2FF}\\u{370}-\\u{37D}\\u{37F}-\\u{1FFF}\\u{200C}\\u{200D}\\u{2070}-\\u{218F}" +
  "\\u{2C00}-\\u{2FEF}\\u{3001}-\\u{D7FF}\\u{F900}-\\u{FDCF}\\u{FDF0}-\\u{FFFD}\\u{10000}-\\u{EFFFF}"
const within = `${letters}0-9_\\-\\u{B7}\\u{300}-\\u{36F}\\u{203F}\\u{2040}`
const blankNodeLabel = new RegExp(`^[${letters}0-9_](?:[${within}.]*[${within}])?$`, "u")

const checkLiteral = ({ value, language, datatype }: Literal): InvalidTerm | undefined => {
  if (!value.isWellFormed()) return new InvalidTerm({ term: value, problem: "holds half of a character" })
  if (language === "") return checkIri(datatype.value)
  return /^[a-z]{1,8}(-[a-z0-9]{1,8})*$/.test(language)
    ? undefined
    : new InvalidTerm({ term: language, problem: "is not a language tag in small letters" })
}
