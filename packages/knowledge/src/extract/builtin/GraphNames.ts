/** The names that a graph already knows, so that the extractor finds them again in other texts. */

import type { Triple } from "../../rdf/Term.ts"
import { rdf, rdfs, skos } from "../../rdf/Vocabulary.ts"
import type { KnownName } from "./Gazetteer.ts"

const labels: ReadonlySet<string> = new Set([rdfs.label, skos.prefLabel, skos.altLabel])

/** Every label of every entity, with the entity's classes. What is said about facts is no entity. */
export const namesOfGraph = (triples: Iterable<Triple>): ReadonlyArray<KnownName> => {
  const entities = new Map<string, { readonly names: Set<string>; readonly types: Set<string> }>()
  const entity = (iri: string) => {
    const known = entities.get(iri) ?? { names: new Set<string>(), types: new Set<string>() }
    entities.set(iri, known)
    return known
  }
  for (const { subject, predicate, object } of triples) {
    if (subject.termType !== "NamedNode") continue
    if (predicate.value === rdf.type && object.termType === "NamedNode") entity(subject.value).types.add(object.value)
    else if (labels.has(predicate.value) && object.termType === "Literal") entity(subject.value).names.add(object.value)
  }
  return [...entities.values()].flatMap(({ names, types }) =>
    types.has(rdf.statement) ? [] : [...names].map((name) => ({ name, types: [...types] })),
  )
}
