/** RDF as the reader of ontologies sees it, whatever it was written in. */

export type Node =
  | { readonly kind: "iri"; readonly value: string }
  | { readonly kind: "blank"; readonly value: string }
  | { readonly kind: "literal"; readonly value: string; readonly language: string; readonly datatype: string }

export interface Statement {
  readonly subject: Node
  readonly predicate: string
  readonly object: Node
}

/** What the three parsers have in common: the terms of RDF/JS. */
interface Term {
  readonly termType: string
  readonly value: string
  readonly language?: string
  readonly datatype?: { readonly value: string }
}

interface Quad {
  readonly subject: Term
  readonly predicate: Term
  readonly object: Term
}

/** Statements about statements name nothing an ontology needs, so they are left out. */
export const statementOf = (quad: Quad): ReadonlyArray<Statement> => {
  const subject = nodeOf(quad.subject)
  const object = nodeOf(quad.object)
  if (subject === undefined || object === undefined) return []
  return [{ subject, predicate: quad.predicate.value, object }]
}

const nodeOf = (term: Term): Node | undefined => {
  if (term.termType === "NamedNode") return { kind: "iri", value: term.value }
  if (term.termType === "BlankNode") return { kind: "blank", value: term.value }
  if (term.termType !== "Literal") return undefined
  return { kind: "literal", value: term.value, language: term.language ?? "", datatype: term.datatype?.value ?? "" }
}
