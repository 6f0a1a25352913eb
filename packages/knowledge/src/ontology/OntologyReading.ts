/** Converts the triples of an RDF file into an {@link Ontology}: OWL, RDFS, and schema.org's `domainIncludes` and `rangeIncludes`. */
import type { Triple } from "../rdf/Term.ts"
import { dc, isStandardDatatype, owl, rdf, rdfs, schemaOrg, skos } from "../rdf/Vocabulary.ts"
import { cyclesOf } from "./Hierarchy.ts"
import type {
  ClassExpression,
  Label,
  Ontology,
  OntologyClass,
  OntologyNote,
  OntologyProperty,
  PropertyTrait,
  Restriction,
} from "./Ontology.ts"

export const readOntology = (triples: ReadonlyArray<Triple>, hash: string): Ontology => {
  const graph = new StatementGraph(triples)
  const notes: Array<OntologyNote> = []
  const datatypes = graph.typed(rdfs.datatype).filter((key) => !isBlank(key) && !isStandardDatatype(key))
  const properties = readProperties(graph, new Set(datatypes), notes)
  const classes = readClasses(graph, properties, new Set(datatypes), notes)
  const [self] = graph.typed(owl.ontology).filter((key) => !isBlank(key))
  for (const imported of self === undefined ? [] : graph.iris(self, owl.imports)) {
    notes.push({ kind: "import", subject: imported, detail: "imports are not fetched; add its statements to the file if they are needed" })
  }
  notes.push(...cycleNotes(classes, "class"), ...cycleNotes(properties, "property"))
  const versionIri = self === undefined ? undefined : graph.iris(self, owl.versionIri)[0]
  const title = self === undefined ? undefined : graph.literals(self, [...dc.title, rdfs.label])[0]?.text
  return {
    hash,
    namespace: namespaceOf([...classes, ...properties].map((term) => term.iri)) ?? self ?? "",
    ...(versionIri === undefined ? {} : { versionIri }),
    ...(title === undefined ? {} : { title }),
    classes,
    properties,
    datatypes: distinct(datatypes),
    notes,
  }
}

interface WithParents {
  readonly iri: string
  readonly parents: ReadonlyArray<string>
}

/** A cycle is not an error: it entails that its members are equivalent. Authors seldom intend one, so the notes report it. */
const cycleNotes = (terms: ReadonlyArray<WithParents>, what: "class" | "property"): ReadonlyArray<OntologyNote> =>
  cyclesOf(new Map(terms.map((term) => [term.iri, term.parents]))).map(([first = "", ...others]) => ({
    kind: "cycle",
    subject: first,
    detail: `is a sub${what} of itself through ${others.join(", ")}; they are taken to be the same ${what}`,
  }))

/** The prefix of most terms, up to the last `#`, `/` or `:`. The ontology's own IRI often differs from it. */
const namespaceOf = (iris: ReadonlyArray<string>): string | undefined => {
  const counts = new Map<string, number>()
  for (const iri of iris) {
    const beginning = /^.*[#/:]/s.exec(iri)?.[0] ?? iri
    counts.set(beginning, (counts.get(beginning) ?? 0) + 1)
  }
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))[0]?.[0]
}

/** The classes with their restrictions and disjointness. */
const readClasses = (
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
  // An undeclared class may be named only by its subclasses or in a domain, and may itself name further undeclared superclasses.
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
  // A class that is defined as an intersection is a subclass of each member.
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

/** The classes that are defined as unions, by member: each member is a subclass of its unions. */
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

/** Disjointness is symmetric, and holds for every pair of a group. */
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

/** The properties with their domains and ranges. */
const readProperties = (
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

/** `owl:inverseOf` is symmetric, though the source states it for one side only. */
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

/** Several `rdfs:domain` statements form an intersection, several `schema:domainIncludes` a union. */
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
  // Every entity is an `owl:Thing`, so a union with it requires nothing.
  return expression.filter((members) => !members.some(isAnything))
}

const isAnything = (iri: string): boolean => iri === owl.thing || iri === rdfs.resource

/** The labels, comments and deprecation that classes and properties have in common. */
const describe = (graph: StatementGraph, iri: string) => {
  const labels = graph.literals(iri, [skos.prefLabel, rdfs.label, ...dc.title])
  return {
    iri,
    labels: labels.length > 0 ? labels : [labelFromIri(iri)],
    alternativeLabels: graph.literals(iri, [skos.altLabel, skos.hiddenLabel]),
    comments: graph.literals(iri, [rdfs.comment, skos.definition, ...dc.description]),
    deprecated: graph.literals(iri, [owl.deprecated]).some(({ text }) => text === "true" || text === "1"),
  }
}

/** A label from the last part of an IRI: "has head office" for `https://example.org/terms#hasHeadOffice`. */
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

/** The last non-empty part of an IRI, split at `#`, `/` and `:`. */
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
    // A percent sign that starts no escape is part of the name.
    return text
  }
}

// Triples, indexed by subject and predicate. Resolves the blank nodes of class expressions and lists.

class StatementGraph {
  private readonly bySubject = new Map<string, Map<string, Array<Triple["object"]>>>()
  private readonly byType = new Map<string, Set<string>>()

  constructor(triples: ReadonlyArray<Triple>) {
    for (const { subject, predicate: property, object } of triples) {
      const key = keyOf(subject)
      const predicate = property.value
      const predicates = getOrMake(this.bySubject, key, () => new Map<string, Array<Triple["object"]>>())
      getOrMake(predicates, predicate, () => []).push(object)
      if (predicate === rdf.type && object.termType === "NamedNode") getOrMake(this.byType, object.value, () => new Set()).add(key)
    }
  }

  /** The subjects of a type, in the order in which they first appear. */
  typed(type: string): ReadonlyArray<string> {
    return [...(this.byType.get(type) ?? [])]
  }

  subjects(): Iterable<string> {
    return this.bySubject.keys()
  }

  isTyped(subject: string, type: string): boolean {
    return this.byType.get(type)?.has(subject) ?? false
  }

  has(subject: string, predicate: string): boolean {
    return this.bySubject.get(subject)?.has(predicate) ?? false
  }

  objects(subject: string, predicate: string): ReadonlyArray<Triple["object"]> {
    return this.bySubject.get(subject)?.get(predicate) ?? []
  }

  iris(subject: string, predicate: string): ReadonlyArray<string> {
    return distinct(this.objects(subject, predicate).flatMap((node) => (node.termType === "NamedNode" ? [node.value] : [])))
  }

  /** The objects as keys, including blank nodes. */
  keys(subject: string, predicate: string): ReadonlyArray<string> {
    return distinct(this.objects(subject, predicate).flatMap((node) => (node.termType === "Literal" ? [] : [keyOf(node)])))
  }

  literals(subject: string, predicates: ReadonlyArray<string>): ReadonlyArray<Label> {
    const labels = predicates.flatMap((predicate) =>
      this.objects(subject, predicate).flatMap((node) =>
        node.termType === "Literal" && node.value.trim() !== "" ? [{ text: node.value.trim(), language: node.language }] : [],
      ),
    )
    const seen = new Set<string>()
    return labels.filter((label) => {
      const key = `${label.language} ${label.text}`
      return seen.has(key) ? false : seen.add(key)
    })
  }

  integer(subject: string, predicate: string): number | undefined {
    const [node] = this.objects(subject, predicate)
    return node?.termType === "Literal" && /^\+?\d+$/.test(node.value.trim()) ? Number(node.value) : undefined
  }

  /** The members of an RDF list. Stops at the first repeated node of a cyclic list. */
  list(head: string): ReadonlyArray<string> {
    const members: Array<string> = []
    const visited = new Set<string>()
    for (let at = head; at !== rdf.nil && !visited.has(at); ) {
      visited.add(at)
      members.push(...this.keys(at, rdf.first))
      const [next] = this.keys(at, rdf.rest)
      if (next === undefined) break
      at = next
    }
    return members
  }

  /**
   * A named class, or a union or intersection of named classes. Undefined for expressions of another form: complements, enumerations,
   * restrictions.
   */
  classExpression(key: string): ClassExpression | undefined {
    return this.expressionWithin(key, new Set())
  }

  private expressionWithin(key: string, visited: Set<string>): ClassExpression | undefined {
    if (!isBlank(key)) return [[key]]
    if (visited.has(key)) return undefined
    visited.add(key)
    const [union] = this.keys(key, owl.unionOf)
    if (union !== undefined) {
      const members = this.list(union).map((member) => this.expressionWithin(member, visited))
      // A union of intersections is widened to the union of their first members: rather too permissive than too strict.
      return members.some((member) => member === undefined) ? undefined : [distinct(members.flatMap((member) => member?.[0] ?? []))]
    }
    const [intersection] = this.keys(key, owl.intersectionOf)
    if (intersection === undefined) return undefined
    const known = this.list(intersection).flatMap((member) => this.expressionWithin(member, visited) ?? [])
    return known.length === 0 ? undefined : known
  }
}

const isBlank = (key: string): boolean => key.startsWith("_:")

const keyOf = (node: Triple["object"]): string => (node.termType === "BlankNode" ? `_:${node.value}` : node.value)

const distinct = <A>(items: Iterable<A>): ReadonlyArray<A> => [...new Set(items)]

const getOrMake = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const found = map.get(key)
  if (found !== undefined) return found
  const made = make()
  map.set(key, made)
  return made
}
