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
import { OntologyEmpty, type OntologyError, type OntologyFormat } from "./OntologyError.ts"
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
  const triples = yield* parseRdf({
    text,
    name: source.name,
    format: source.format ?? formatOf(source.name, text),
    base: source.base ?? "urn:ontology",
  })
  const ontology = readOntology(triples, createHash("sha256").update(source.text).digest("hex"))
  if (ontology.classes.length === 0 && ontology.properties.length === 0) {
    return yield* new OntologyEmpty({ source: source.name, statements: triples.length })
  }
  return new OntologyIndex(ontology)
})
