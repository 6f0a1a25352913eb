/** The n3 library, loaded when RDF is first read or written: it takes 50 ms. */
import * as Effect from "effect/Effect"
import type { BlankNode, Literal, NamedNode, Triple } from "./Term.ts"

export const n3: Effect.Effect<typeof import("n3")> = Effect.promise(() => import("n3"))

/** The library's terms have more to them than ours. */
interface LibraryTerm {
  readonly termType: string
  readonly value: string
  readonly language?: string
  readonly datatype?: { readonly value: string }
}

interface LibraryQuad {
  readonly subject: LibraryTerm
  readonly predicate: LibraryTerm
  readonly object: LibraryTerm
}

/** As plain data; undefined for what is no triple of RDF 1.1, such as a statement about a statement. */
export const tripleOf = (quad: LibraryQuad): Triple | undefined => {
  const subject = nodeOf(quad.subject)
  const predicate = nodeOf(quad.predicate)
  const object = nodeOf(quad.object) ?? literalOf(quad.object)
  if (subject === undefined || predicate?.termType !== "NamedNode" || object === undefined) return undefined
  return { subject, predicate, object }
}

const nodeOf = (term: LibraryTerm): NamedNode | BlankNode | undefined =>
  term.termType === "NamedNode" || term.termType === "BlankNode" ? { termType: term.termType, value: term.value } : undefined

const literalOf = (term: LibraryTerm): Literal | undefined =>
  term.termType === "Literal"
    ? {
        termType: "Literal",
        value: term.value,
        language: (term.language ?? "").toLowerCase(),
        datatype: { termType: "NamedNode", value: term.datatype?.value ?? "" },
      }
    : undefined

/** Blank nodes keep the labels they have in the text, which otherwise are numbered on from one text to the next. */
export const keepLabels = { blankNodePrefix: "_:" }
