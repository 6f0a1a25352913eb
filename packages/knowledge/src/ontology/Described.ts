/** The labels, comments and status that classes and properties are described with alike. */

import { dc, owl, rdfs, skos } from "../rdf/Vocabulary.ts"
import type { Label } from "./Ontology.ts"
import type { StatementGraph } from "./StatementGraph.ts"

export const describe = (graph: StatementGraph, iri: string) => {
  const labels = graph.literals(iri, [skos.prefLabel, rdfs.label, ...dc.title])
  return {
    iri,
    labels: labels.length > 0 ? labels : [labelFromIri(iri)],
    alternativeLabels: graph.literals(iri, [skos.altLabel, skos.hiddenLabel]),
    comments: graph.literals(iri, [rdfs.comment, skos.definition, ...dc.description]),
    deprecated: graph.literals(iri, [owl.deprecated]).some(({ text }) => text === "true" || text === "1"),
  }
}

/** `https://example.org/terms#hasHeadOffice` says "has head office". */
const labelFromIri = (iri: string): Label => {
  const last = decode(lastName(iri) || iri)
  const words = last
    .replace(/[_\-+.]+/g, " ")
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .trim()
  const text = words.split(" ").map((word) => (/^\p{Lu}\p{Ll}/u.test(word) ? word.toLowerCase() : word))
  return { text: text.join(" ") || iri, language: "" }
}

/** What stands behind the last mark that something follows. */
const lastName = (iri: string): string => {
  let end = iri.length
  while (end > 0 && isMark(iri[end - 1])) end--
  let start = end
  while (start > 0 && !isMark(iri[start - 1])) start--
  return iri.slice(start, end)
}

const isMark = (character: string | undefined): boolean => character === "#" || character === "/" || character === ":"

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    // A stray percent sign is part of the name, then.
    return text
  }
}
