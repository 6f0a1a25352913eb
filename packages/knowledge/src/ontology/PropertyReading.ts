/** Reads the properties of an ontology with their domains and ranges. */

import { isStandardDatatype, owl, rdf, rdfs, schemaOrg } from "../rdf/Vocabulary.ts"
import { describe } from "./Described.ts"
import type { ClassExpression, OntologyNote, OntologyProperty, PropertyTrait } from "./Ontology.ts"
import { distinct, isBlank, type StatementGraph } from "./StatementGraph.ts"

export const readProperties = (
  graph: StatementGraph,
  datatypes: ReadonlySet<string>,
  notes: Array<OntologyNote>,
): ReadonlyArray<OntologyProperty> => {
  const annotations = new Set(graph.typed(owl.annotationProperty))
  const known = distinct(propertyTypes.flatMap((type) => graph.typed(type))).filter((key) => !isBlank(key) && !isBuiltIn(key))
  const named = known.filter(
    (iri) => !annotations.has(iri) || graph.isTyped(iri, owl.objectProperty) || graph.isTyped(iri, owl.datatypeProperty),
  )
  const inverses = inversesOf(graph)
  return named.map((iri) => {
    const range = expressionOf(graph, iri, rdfs.range, schemaOrg.rangeIncludes, notes)
    return {
      ...describe(graph, iri),
      kind: kindOf(graph, iri, range, datatypes),
      parents: graph.iris(iri, rdfs.subPropertyOf).filter((parent) => parent !== iri && !isBuiltIn(parent)),
      equivalents: graph.iris(iri, owl.equivalentProperty).filter((other) => other !== iri),
      inverses: distinct(inverses.get(iri) ?? []),
      traits: traits.flatMap(([type, trait]) => (graph.isTyped(iri, type) ? [trait] : [])),
      domain: expressionOf(graph, iri, rdfs.domain, schemaOrg.domainIncludes, notes),
      range,
    }
  })
}

const propertyTypes = [
  owl.objectProperty,
  owl.datatypeProperty,
  owl.functionalProperty,
  owl.inverseFunctionalProperty,
  owl.symmetricProperty,
  owl.asymmetricProperty,
  owl.transitiveProperty,
  owl.irreflexiveProperty,
  rdf.property,
]

const traits: ReadonlyArray<readonly [string, PropertyTrait]> = [
  [owl.functionalProperty, "functional"],
  [owl.inverseFunctionalProperty, "inverseFunctional"],
  [owl.symmetricProperty, "symmetric"],
  [owl.asymmetricProperty, "asymmetric"],
  [owl.transitiveProperty, "transitive"],
  [owl.irreflexiveProperty, "irreflexive"],
]

const isBuiltIn = (iri: string): boolean => iri === owl.topObjectProperty || iri === owl.topDataProperty

/** An inverse holds for both sides, though it is written at one. */
const inversesOf = (graph: StatementGraph): ReadonlyMap<string, ReadonlyArray<string>> => {
  const inverses = new Map<string, Array<string>>()
  const add = (from: string, to: string) => inverses.set(from, [...(inverses.get(from) ?? []), to])
  for (const iri of graph.subjects()) {
    if (isBlank(iri)) continue
    for (const other of graph.iris(iri, owl.inverseOf)) {
      add(iri, other)
      if (other !== iri) add(other, iri)
    }
  }
  return inverses
}

const kindOf = (graph: StatementGraph, iri: string, range: ClassExpression, datatypes: ReadonlySet<string>): OntologyProperty["kind"] => {
  const object = objectOnly.some((type) => graph.isTyped(iri, type))
  const datatype = graph.isTyped(iri, owl.datatypeProperty)
  if (object !== datatype) return object ? "object" : "datatype"
  const members = range.flat()
  const literal = members.filter((member) => isStandardDatatype(member) || datatypes.has(member)).length
  if (members.length === 0) return "any"
  if (literal === members.length) return "datatype"
  return literal === 0 ? "object" : "any"
}

const objectOnly = [
  owl.objectProperty,
  owl.inverseFunctionalProperty,
  owl.symmetricProperty,
  owl.asymmetricProperty,
  owl.transitiveProperty,
  owl.irreflexiveProperty,
]

/** Several `rdfs:domain` are all to hold; of several `schema:domainIncludes` any one. */
const expressionOf = (
  graph: StatementGraph,
  iri: string,
  predicate: string,
  includes: ReadonlyArray<string>,
  notes: Array<OntologyNote>,
): ClassExpression => {
  const anyOf = distinct(includes.flatMap((one) => graph.iris(iri, one)))
  const all = graph.keys(iri, predicate).flatMap((key): ClassExpression => {
    const expression = graph.classExpression(key)
    if (expression !== undefined) return expression
    const detail = `its ${predicate === rdfs.domain ? "domain" : "range"} is neither a class nor a union or intersection of classes, so anything is allowed`
    notes.push({ kind: "unsupported", subject: iri, detail })
    return []
  })
  const expression = anyOf.length === 0 ? all : [...all, anyOf]
  // Everything is a thing, so a part that says so demands nothing.
  return expression.filter((members) => !members.some(isAnything))
}

const isAnything = (iri: string): boolean => iri === owl.thing || iri === rdfs.resource
