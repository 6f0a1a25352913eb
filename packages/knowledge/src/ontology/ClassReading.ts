/** Reads the classes of an ontology with their restrictions and disjointness. */

import { isStandardDatatype, owl, rdfs } from "../rdf/Vocabulary.ts"
import { describe } from "./Described.ts"
import type { OntologyClass, OntologyNote, OntologyProperty, Restriction } from "./Ontology.ts"
import { distinct, isBlank, type StatementGraph } from "./StatementGraph.ts"

export const readClasses = (
  graph: StatementGraph,
  properties: ReadonlyArray<OntologyProperty>,
  datatypes: ReadonlySet<string>,
  notes: Array<OntologyNote>,
): ReadonlyArray<OntologyClass> => {
  const isClass = (iri: string) => !isBlank(iri) && !isStandardDatatype(iri) && !datatypes.has(iri) && !builtIn.has(iri)
  const declared = distinct([...graph.typed(owl.class), ...graph.typed(rdfs.class)]).filter(isClass)
  const disjoint = disjointnessOf(graph)
  const unions = unionsOf(graph)
  const read = (iri: string): OntologyClass => {
    const { parents, restrictions } = superclassesOf(graph, iri, notes)
    return {
      ...describe(graph, iri),
      declared: declaredSet.has(iri),
      parents: distinct([...parents, ...(unions.get(iri) ?? [])]).filter((parent) => parent !== iri && isClass(parent)),
      equivalents: graph.iris(iri, owl.equivalentClass).filter((other) => other !== iri && isClass(other)),
      disjoint: distinct(disjoint.get(iri) ?? []).filter(isClass),
      restrictions,
    }
  }
  const declaredSet = new Set(declared)
  const classes = new Map(declared.map((iri) => [iri, read(iri)]))
  const referred = [
    ...properties.flatMap((property) => [...property.domain.flat(), ...(property.kind === "datatype" ? [] : property.range.flat())]),
    ...[...graph.subjects()].filter((key) => graph.has(key, rdfs.subClassOf)),
    ...unions.keys(),
    ...disjoint.keys(),
  ].filter(isClass)
  // A class may be named only by its subclasses or in a domain; those in turn may have superclasses that are named nowhere else.
  const waiting = [...referred, ...[...classes.values()].flatMap(mentionedBy)]
  for (let at = 0; at < waiting.length; at++) {
    const iri = waiting[at] ?? ""
    if (!isClass(iri) || classes.has(iri)) continue
    const found = read(iri)
    classes.set(iri, found)
    waiting.push(...mentionedBy(found))
    notes.push({ kind: "undeclared", subject: iri, detail: "used as a class but not declared as one" })
  }
  return [...classes.values()]
}

const builtIn: ReadonlySet<string> = new Set([owl.thing, owl.nothing, rdfs.resource, rdfs.class, owl.class])

const mentionedBy = (one: OntologyClass): ReadonlyArray<string> => [
  ...one.parents,
  ...one.equivalents,
  ...one.disjoint,
  ...one.restrictions.flatMap((restriction) => restriction.fillers),
]

const superclassesOf = (graph: StatementGraph, iri: string, notes: Array<OntologyNote>) => {
  const parents: Array<string> = []
  const restrictions: Array<Restriction> = []
  const definitions = graph.keys(iri, owl.equivalentClass).filter(isBlank)
  // What a class is defined as an intersection of, it is below each of.
  const parts = [...graph.keys(iri, rdfs.subClassOf), ...definitions, ...(graph.has(iri, owl.intersectionOf) ? [iri] : [])]
  const visited = new Set<string>()
  while (parts.length > 0) {
    const part = parts.shift() ?? ""
    if (visited.has(part)) continue
    visited.add(part)
    const [intersection] = graph.keys(part, owl.intersectionOf)
    if (intersection !== undefined) parts.push(...graph.list(intersection))
    else if (!isBlank(part)) parents.push(part)
    else if (graph.has(part, owl.onProperty)) restrictions.push(...restrictionsOf(graph, part))
    else if (!graph.has(part, owl.unionOf)) {
      notes.push({
        kind: "unsupported",
        subject: iri,
        detail: "one of its superclasses is an expression that is not understood and is left out",
      })
    }
  }
  return { parents, restrictions }
}

/** The classes that are defined as unions, by member: each member is below them. */
const unionsOf = (graph: StatementGraph): ReadonlyMap<string, ReadonlyArray<string>> => {
  const unions = new Map<string, Array<string>>()
  for (const iri of graph.subjects()) {
    if (isBlank(iri)) continue
    const definitions = [iri, ...graph.keys(iri, owl.equivalentClass).filter(isBlank)]
    const lists = definitions.flatMap((node) => [...graph.keys(node, owl.unionOf), ...graph.keys(node, owl.disjointUnionOf)])
    for (const member of lists.flatMap((list) => graph.list(list))) unions.set(member, [...(unions.get(member) ?? []), iri])
  }
  return unions
}

const quantified: ReadonlyArray<readonly [string, Restriction["kind"]]> = [
  [owl.someValuesFrom, "some"],
  [owl.allValuesFrom, "all"],
]

const counted: ReadonlyArray<readonly [string, Restriction["kind"]]> = [
  [owl.minCardinality, "min"],
  [owl.minQualifiedCardinality, "min"],
  [owl.maxCardinality, "max"],
  [owl.maxQualifiedCardinality, "max"],
  [owl.cardinality, "exactly"],
  [owl.qualifiedCardinality, "exactly"],
]

const restrictionsOf = (graph: StatementGraph, node: string): ReadonlyArray<Restriction> => {
  const [property] = graph.iris(node, owl.onProperty)
  if (property === undefined) return []
  const quantifiedOnes = quantified.flatMap(([predicate, kind]) =>
    graph.keys(node, predicate).map((filler) => ({ property, kind, fillers: fillersOf(graph, [filler]) })),
  )
  const countedOnes = counted.flatMap(([predicate, kind]) => {
    const count = graph.integer(node, predicate)
    const qualifiers = [...graph.keys(node, owl.onClass), ...graph.keys(node, owl.onDataRange)]
    return count === undefined ? [] : [{ property, kind, fillers: fillersOf(graph, qualifiers), count }]
  })
  const valued = graph.objects(node, owl.hasValue).map((value) => ({ property, kind: "value" as const, fillers: [], value: value.value }))
  return [...quantifiedOnes, ...countedOnes, ...valued]
}

const fillersOf = (graph: StatementGraph, keys: ReadonlyArray<string>): ReadonlyArray<string> =>
  distinct(keys.flatMap((key) => graph.classExpression(key)?.[0] ?? []).filter((iri) => iri !== owl.thing))

/** Disjointness holds for both sides, and in a group for every pair. */
const disjointnessOf = (graph: StatementGraph): ReadonlyMap<string, ReadonlyArray<string>> => {
  const pairs = new Map<string, Array<string>>()
  const group = (members: ReadonlyArray<string>) => {
    for (const one of members) pairs.set(one, [...(pairs.get(one) ?? []), ...members.filter((other) => other !== one)])
  }
  for (const key of graph.subjects()) {
    for (const other of graph.iris(key, owl.disjointWith)) group([key, other])
    for (const list of graph.keys(key, owl.disjointUnionOf)) group(graph.list(list))
    if (graph.isTyped(key, owl.allDisjointClasses)) for (const list of graph.keys(key, owl.members)) group(graph.list(list))
  }
  return pairs
}
