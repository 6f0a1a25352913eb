/**
 * From the text of an ontology file to its index.
 *
 * ```ts
 * const index = yield* loadOntology({ name: "library.ttl", text })
 * index.label("https://example.org/library#Book") // "book"
 * ```
 */

import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import type { Triple } from "../rdf/Term.ts"
import { OntologyEmpty, type OntologyError, type OntologyFormat, OntologySyntaxError } from "./OntologyError.ts"
import { OntologyIndex } from "./OntologyIndex.ts"
import { readOntology } from "./OntologyReading.ts"
import { formatOf, parseRdf } from "./RdfParsing.ts"

export interface OntologySource {
  /** What error messages call it: a path or a URI. Its ending tells the format. */
  readonly name: string
  readonly text: string
  readonly format?: OntologyFormat
  /** What relative IRIs in it are relative to. */
  readonly base?: string
}

export const loadOntology = Effect.fnUntraced(function* (source: OntologySource): Effect.fn.Return<OntologyIndex, OntologyError> {
  const text = source.text.replace(/^\uFEFF/, "")
  const format = source.format ?? formatOf(source.name, text)
  const triples = yield* parseRdf({
    text,
    name: source.name,
    format,
    base: source.base ?? "urn:ontology",
  })
  if (triples.some(isOverlong))
    return yield* new OntologySyntaxError({ source: source.name, format, problem: `an IRI in it is longer than ${longestIri} characters` })
  const ontology = readOntology(triples, createHash("sha256").update(source.text).digest("hex"))
  if (ontology.classes.length === 0 && ontology.properties.length === 0) {
    return yield* new OntologyEmpty({ source: source.name, statements: triples.length })
  }
  return new OntologyIndex(ontology)
})

/** Longer than any address that is meant to be used: IRIs are in every prompt, shape and line that names their terms. */
const longestIri = 4096

const isOverlong = ({ subject, predicate, object }: Triple): boolean =>
  [subject, predicate, object].some(({ termType, value }) => termType === "NamedNode" && value.length > longestIri)
