/**
 * SHACL shapes, given or derived from an ontology. Shapes that use unsupported features are refused when a batch starts.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Restriction } from "../ontology/Ontology.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { Triple } from "../rdf/Term.ts"
import { type RdfSyntaxError, readNTriples, readTurtle } from "../rdf/Turtle.ts"
import { owl, rdf, rdfs, vocabularies } from "../rdf/Vocabulary.ts"
import { editDistance } from "../text/NameForm.ts"

export const { sh } = vocabularies

export interface Shapes {
  readonly triples: ReadonlyArray<Triple>
  readonly graph: ShapesGraph
  /** Whether every shape looks only at one node, its values and their classes: then a graph can be validated in chunks. */
  readonly local: boolean
  /** The largest distance from a focus node that the shapes examine, in statements; infinite if a path or recursion is unbounded. */
  readonly hops: number
  /** Whether a literal may be a focus node. */
  readonly ofLiterals: boolean
  /** Whether a shape refers to itself. SHACL leaves recursion undefined. */
  readonly recursive: boolean
}

export class ShapesRefused extends Schema.TaggedError<ShapesRefused>()("ShapesRefused", {
  source: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the shapes in ${this.source} cannot be used: ${this.problem}; correct them, or leave them out to have shapes derived from the ontology`
  }
}

/** `mayBeEmpty`: shapes without a target are accepted, as those derived from an ontology without domains, ranges and other rules. */
interface ShapesOptions {
  readonly mayBeEmpty?: boolean
}

export const readShapes = (text: string, source: string, options?: ShapesOptions): Effect.Effect<Shapes, RdfSyntaxError | ShapesRefused> =>
  Effect.flatMap(Stream.runCollect((source.endsWith(".nt") ? readNTriples : readTurtle)(Stream.succeed(text), source)), (triples) =>
    shapesOf(triples, source, options),
  )

export const shapesOf = (
  triples: ReadonlyArray<Triple>,
  source: string,
  { mayBeEmpty = false }: ShapesOptions = {},
): Effect.Effect<Shapes, ShapesRefused> => {
  const refuse = (problem: string) => Effect.fail(new ShapesRefused({ source, problem }))
  const graph = new ShapesGraph(triples)
  const imported = triples.find(({ predicate }) => predicate.value === owl.imports)
  if (imported !== undefined)
    return refuse(`they import ${imported.object.value}, and imports are not fetched: add its statements to the file`)
  for (const { predicate } of triples) {
    if (!predicate.value.startsWith(sh)) continue
    const name = predicate.value.slice(sh.length)
    if (known.has(name)) continue
    if (unsupported.has(name)) return refuse(`sh:${name} is not supported: it is not part of SHACL Core`)
    const meant = [...known].find((one) => editDistance(one.toLowerCase(), name.toLowerCase(), 1) <= 1)
    if (meant !== undefined) return refuse(`SHACL has no sh:${name}; sh:${meant} may be meant`)
  }
  const roots = graph.targeted()
  if (roots.length === 0 && !mayBeEmpty) return refuse("no shape in them names a target, so they would find nothing")
  const reach = new Reach(graph)
  for (const root of roots) reach.addTarget(root)
  const [fault] = reach.faults
  if (fault !== undefined) return refuse(fault)
  const ofLiterals = triples.some(
    ({ predicate, object }) =>
      predicate.value === `${sh}targetObjectsOf` || (predicate.value === `${sh}targetNode` && object.termType === "Literal"),
  )
  return Effect.succeed({ triples, graph, local: reach.local, hops: reach.hops, ofLiterals, recursive: reach.recursive })
}

const targets = ["targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"].map((name) => sh + name)

/** The vocabulary of SHACL Core. */
const known: ReadonlySet<string> = new Set([
  ...targets.map((target) => target.slice(sh.length)),
  ..."and class closed datatype disjoint equals flags hasValue ignoredProperties in languageIn lessThan lessThanOrEquals".split(" "),
  ..."maxCount maxExclusive maxInclusive maxLength minCount minExclusive minInclusive minLength node nodeKind not or".split(" "),
  ..."pattern property qualifiedMaxCount qualifiedMinCount qualifiedValueShape qualifiedValueShapesDisjoint uniqueLang xone".split(" "),
  ..."path alternativePath inversePath oneOrMorePath zeroOrMorePath zeroOrOnePath".split(" "),
  ..."deactivated defaultValue description group message name order severity".split(" "),
])

/** Predicates beyond SHACL Core: constraints and targets in SPARQL or JavaScript, custom components, rules, entailment. */
const unsupported: ReadonlySet<string> = new Set([
  ..."ask construct entailment expression filterShape js jsFunctionName nodeValidator optional parameter".split(" "),
  ..."propertyValidator rule select sparql target update validator".split(" "),
])

/** Constraints that are allowed only in property shapes. */
const ofProperties: ReadonlySet<string> = new Set(
  "lessThan lessThanOrEquals maxCount minCount uniqueLang".split(" ").map((name) => sh + name),
)

/** Predicates that a shape has at most once. */
const single: ReadonlySet<string> = new Set(["ignoredProperties", "in", "languageIn", "path"].map((name) => sh + name))

type Object = Triple["object"]

/** The triples of shapes, by subject. Blank node labels cannot be confused with IRIs, since only IRIs contain a colon. */
export class ShapesGraph {
  readonly #bySubject = new Map<string, Map<string, Array<Object>>>()

  constructor(triples: ReadonlyArray<Triple>) {
    for (const { subject, predicate, object } of triples) {
      const values = this.#bySubject.get(subject.value) ?? new Map<string, Array<Object>>()
      this.#bySubject.set(subject.value, values)
      const objects = values.get(predicate.value)
      if (objects === undefined) values.set(predicate.value, [object])
      else objects.push(object)
    }
  }

  of(subject: string): ReadonlyMap<string, ReadonlyArray<Object>> {
    return this.#bySubject.get(subject) ?? new Map()
  }

  values(subject: string, predicate: string): ReadonlyArray<Object> {
    return this.of(subject).get(predicate) ?? []
  }

  /** The shapes with a target, explicit or implicit because the shape is a class. */
  targeted(): ReadonlyArray<string> {
    return [...this.#bySubject.keys()].filter((one) => targets.some((target) => this.of(one).has(target)) || this.isClass(one))
  }

  /** The classes whose instances a shape applies to: a shape that is a class targets itself. */
  targetClasses(shape: string): ReadonlyArray<string> {
    return [...this.values(shape, `${sh}targetClass`).map(({ value }) => value), ...(this.isClass(shape) ? [shape] : [])]
  }

  /** All classes that the shapes mention as target or constraint. */
  classesAskedFor(): ReadonlySet<string> {
    const classes = new Set<string>()
    for (const [subject, values] of this.#bySubject) {
      for (const { value } of values.get(`${sh}class`) ?? []) classes.add(value)
      for (const one of this.targetClasses(subject)) classes.add(one)
    }
    return classes
  }

  /** The members of a list. Stops at the first repeated node of a cyclic list. */
  list(head: Object): ReadonlyArray<Object> {
    const members: Array<Object> = []
    const visited = new Set<string>()
    for (let at: Object | undefined = head; at !== undefined && at.value !== rdf.nil && !visited.has(at.value); ) {
      visited.add(at.value)
      const [member] = this.values(at.value, rdf.first)
      if (member !== undefined) members.push(member)
      at = this.values(at.value, rdf.rest)[0]
    }
    return members
  }

  private isClass(subject: string): boolean {
    const waiting = this.values(subject, rdf.type).map(({ value }) => value)
    const visited = new Set(waiting)
    for (let type = waiting.pop(); type !== undefined; type = waiting.pop()) {
      if (type === rdfs.class) return true
      for (const { value } of this.values(type, rdfs.subClassOf)) {
        if (visited.has(value)) continue
        visited.add(value)
        waiting.push(value)
      }
    }
    return false
  }
}

/** Computes how far shapes look from their focus nodes, and finds shapes that cannot be used. */
class Reach {
  local = true
  hops = 0
  recursive = false
  /** Reasons why the shapes cannot be applied. */
  readonly faults: Array<string> = []
  readonly #graph: ShapesGraph
  readonly #visited = new Map<string, number>()
  readonly #open = new Set<string>()

  constructor(graph: ShapesGraph) {
    this.#graph = graph
  }

  addTarget(shape: string): void {
    if (this.#graph.values(shape, `${sh}targetObjectsOf`).length > 0) this.#beyond(1)
    this.#addShape(shape, 0)
  }

  /** `distance` is the distance of the nodes that the shape is applied to: at 0 they are focus nodes, whose statements are loaded. */
  #addShape(shape: string, distance: number): void {
    if (this.#open.has(shape)) {
      this.recursive = true
      this.#beyond(Number.POSITIVE_INFINITY)
      return
    }
    // A visit at a greater distance covers everything that this visit would reach.
    if ((this.#visited.get(shape) ?? -1) >= distance) return
    this.#visited.set(shape, distance)
    this.#open.add(shape)
    const values = distance + this.#lengthOfPath(shape)
    this.hops = Math.max(this.hops, values)
    if (values > 1) this.local = false
    const isOfClasses = this.#graph.values(shape, `${sh}path`).some(({ value }) => value === rdf.type)
    for (const [predicate, objects] of this.#graph.of(shape)) {
      this.#checkUse(shape, predicate, objects)
      // Constraints on classes apply to all their instances.
      if (isOfClasses && (applied.has(predicate) || appliedEach.has(predicate))) this.#beyond(Number.POSITIVE_INFINITY)
      if (ofStatements.has(predicate) && (predicate === `${sh}closed` ? values : distance) > 0) this.#beyond(values + 1)
      for (const object of objects) {
        if (predicate === `${sh}path`) continue
        if (applied.has(predicate)) this.#addShape(object.value, values)
        else if (appliedEach.has(predicate)) for (const { value } of this.#graph.list(object)) this.#addShape(value, values)
      }
    }
    this.#open.delete(shape)
  }

  #checkUse(shape: string, predicate: string, objects: ReadonlyArray<Object>): void {
    const name = `sh:${predicate.slice(sh.length)}`
    if (single.has(predicate) && objects.length > 1) this.faults.push(`${shape} has more than one ${name}`)
    if (ofProperties.has(predicate) && !this.#graph.of(shape).has(`${sh}path`)) this.faults.push(`${shape} has ${name}, but no sh:path`)
    if (predicate === `${sh}path` && objects.some((path) => hasInverse(this.#graph, path, new Set())))
      this.faults.push(`the path of ${shape} has the inverse of another path, which is not supported; write it as a sequence of inverses`)
  }

  #lengthOfPath(shape: string): number {
    const paths = this.#graph.values(shape, `${sh}path`)
    const [path] = paths
    if (path === undefined) return 0
    if (paths.length === 1 && path.termType === "NamedNode") return 1
    this.local = false
    return Math.max(...paths.map((one) => lengthOf(this.#graph, one, new Set())))
  }

  #beyond(hops: number): void {
    this.local = false
    this.hops = Math.max(this.hops, hops)
  }
}

/** Length of a path in statements; infinite where it repeats, or leads through classes, which connect all nodes. */
const lengthOf = (graph: ShapesGraph, path: Object, open: ReadonlySet<string>): number => {
  if (path.termType !== "BlankNode") return path.value === rdf.type ? Number.POSITIVE_INFINITY : 1
  if (open.has(path.value)) return Number.POSITIVE_INFINITY
  const within = new Set([...open, path.value])
  const parts = (heads: ReadonlyArray<Object>) => heads.map((one) => lengthOf(graph, one, within))
  const said = (name: string) => graph.values(path.value, sh + name)
  if (said("zeroOrMorePath").length + said("oneOrMorePath").length > 0) return Number.POSITIVE_INFINITY
  const sequence = parts(graph.list(path)).reduce((sum, length) => sum + length, 0)
  const choices = said("alternativePath").flatMap((list) => parts(graph.list(list)))
  return Math.max(0, sequence, ...choices, ...parts(said("inversePath")), ...parts(said("zeroOrOnePath")))
}

/** Whether a path contains the inverse of anything but a property. */
const hasInverse = (graph: ShapesGraph, path: Object, open: ReadonlySet<string>): boolean => {
  if (path.termType !== "BlankNode" || open.has(path.value)) return false
  const within = new Set([...open, path.value])
  // The library reads a list first, and ignores the node's other statements.
  const sequence = graph.list(path)
  if (sequence.length > 0) return sequence.some((one) => hasInverse(graph, one, within))
  const inverse = graph.values(path.value, `${sh}inversePath`)
  return inverse.some(({ termType }) => termType !== "NamedNode") || partsOf(graph, path).some((one) => hasInverse(graph, one, within))
}

/** The parts of a path. */
const partsOf = (graph: ShapesGraph, { value }: Object): ReadonlyArray<Object> => [
  ...["zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath", "inversePath"].flatMap((name) => graph.values(value, sh + name)),
  ...graph.values(value, `${sh}alternativePath`).flatMap((list) => graph.list(list)),
]

/** Constraints that read other statements of the node they are applied to. */
const ofStatements: ReadonlySet<string> = new Set(["closed", "equals", "disjoint", "lessThan", "lessThanOrEquals"].map((name) => sh + name))

/** Predicates that apply another shape to the value nodes, and predicates that apply each shape of a list. */
const applied: ReadonlySet<string> = new Set(["node", "property", "not", "qualifiedValueShape"].map((name) => sh + name))
const appliedEach: ReadonlySet<string> = new Set(["and", "or", "xone"].map((name) => sh + name))

/** The predicates of a path, in either direction. */
export const predicatesOf = (graph: ShapesGraph, path: Object, open: ReadonlySet<string> = new Set()): ReadonlyArray<string> => {
  if (path.termType === "NamedNode") return [path.value]
  if (path.termType !== "BlankNode" || open.has(path.value)) return []
  const within = new Set([...open, path.value])
  return [...graph.list(path), ...partsOf(graph, path)].flatMap((one) => predicatesOf(graph, one, within))
}

/** A path in SPARQL notation: `^<inverse>`, `<one>/<other>`, `<one>|<other>`, `<repeated>*`. A single IRI has no brackets. */
export const pathText = (graph: ShapesGraph, path: Object): string =>
  path.termType === "NamedNode" ? path.value : partText(graph, path, new Set())

const partText = (graph: ShapesGraph, path: Object, open: ReadonlySet<string>): string => {
  if (path.termType !== "BlankNode") return `<${path.value}>`
  if (open.has(path.value)) return "()"
  const within = new Set([...open, path.value])
  const joined = (parts: ReadonlyArray<Object>, sign: string) => `(${parts.map((one) => partText(graph, one, within)).join(sign)})`
  const said = (name: string) => graph.values(path.value, sh + name)[0]
  const sequence = graph.list(path)
  if (sequence.length > 0) return joined(sequence, "/")
  const choices = said("alternativePath")
  if (choices !== undefined) return joined(graph.list(choices), "|")
  for (const [name, sign] of suffixes) {
    const repeated = said(name)
    if (repeated !== undefined) return `${partText(graph, repeated, within)}${sign}`
  }
  const inverse = said("inversePath")
  return inverse === undefined ? "()" : `^${partText(graph, inverse, within)}`
}

const suffixes = [
  ["zeroOrMorePath", "*"],
  ["oneOrMorePath", "+"],
  ["zeroOrOnePath", "?"],
] as const

const prefixes = `@prefix sh: <${sh}> .\n`

/**
 * Shapes derived from an ontology, for batches without shapes of their own: domains and ranges of properties, functional properties,
 * restrictions of classes, and disjoint classes. Written as Turtle, so that users can read and edit them and the batch can store them.
 */
export const derivedShapes = (index: OntologyIndex): string => {
  const ofProperties = index.ontology.properties.flatMap(({ iri, traits }) => [
    ...domainShape(index, iri),
    ...rangeShape(index, iri),
    ...(traits.includes("functional") ? [propertyShape("single", iri, `sh:targetSubjectsOf <${iri}>`, iri, "sh:maxCount 1")] : []),
  ])
  const ofClasses = index.ontology.classes.flatMap(({ iri, restrictions, disjoint }) => [
    ...restrictions.flatMap((restriction, position) => restrictionShape(index, iri, restriction, position)),
    // Either class may declare the disjointness; it is written once.
    ...disjoint
      .filter((other) => iri < other || !index.classes.get(other)?.disjoint.includes(iri))
      .map((other) => shape(`apart-from-${slug(other)}`, iri, `sh:targetClass <${iri}>`, `sh:not [ sh:class <${other}> ]`)),
  ])
  return `${prefixes}\n${[...ofProperties, ...ofClasses].join("\n")}`
}

const shape = (kind: string, iri: string, target: string, body: string): string =>
  `<urn:detent:shape:${kind}:${slug(iri)}> a sh:NodeShape ;\n  ${target} ;\n  ${body} .\n`

/** Both shapes have IRIs, since reports name them; a blank node label would change with each parse. */
const propertyShape = (kind: string, iri: string, target: string, property: string, body: string): string => {
  const name = `<urn:detent:shape:${kind}:${slug(iri)}:values>`
  return `${shape(kind, iri, target, `sh:property ${name}`)}${name} a sh:PropertyShape ;\n  sh:path <${property}> ;\n  ${body} .\n`
}

const domainShape = (index: OntologyIndex, property: string): ReadonlyArray<string> =>
  index
    .domainOf(property)
    .map((members, position) => shape(`domain-${position}`, property, `sh:targetSubjectsOf <${property}>`, anyClass(members)))

/** Targets the subject, so that a result names the fact and not only its object. */
const rangeShape = (index: OntologyIndex, property: string): ReadonlyArray<string> =>
  index.rangeOf(property).flatMap((members, position) => {
    if (members.some(takesEveryLiteral)) return []
    const body = any(members.map((iri) => kindOf(index, iri)))
    return [propertyShape(`range-${position}`, property, `sh:targetSubjectsOf <${property}>`, property, body)]
  })

const takesEveryLiteral = (iri: string) => iri === rdfs.literal

const restrictionShape = (index: OntologyIndex, iri: string, restriction: Restriction, position: number): ReadonlyArray<string> => {
  const body = restrictionBody(index, restriction)
  return body === undefined ? [] : [propertyShape(`restriction-${position}`, iri, `sh:targetClass <${iri}>`, restriction.property, body)]
}

/** `value` restrictions yield no shape, since the ontology index does not record whether the value is an IRI or a literal. */
const restrictionBody = (index: OntologyIndex, { kind, fillers, count }: Restriction): string | undefined => {
  switch (kind) {
    case "all":
      return fillers.length === 0 ? undefined : any(fillers.map((filler) => kindOf(index, filler)))
    case "some":
      return "sh:minCount 1"
    case "min":
      return count === undefined ? undefined : `sh:minCount ${count}`
    case "max":
      return count === undefined ? undefined : `sh:maxCount ${count}`
    case "exactly":
      return count === undefined ? undefined : `sh:minCount ${count} ; sh:maxCount ${count}`
    case "value":
      return undefined
  }
}

const kindOf = (index: OntologyIndex, iri: string) => (index.isDatatype(iri) ? `sh:datatype <${iri}>` : `sh:class <${iri}>`)

const anyClass = (members: ReadonlyArray<string>) => any(members.map((iri) => `sh:class <${iri}>`))

const any = (choices: ReadonlyArray<string>): string =>
  choices.length === 1 ? (choices[0] ?? "") : `sh:or ( ${choices.map((one) => `[ ${one} ]`).join(" ")} )`

/** The IRI encoded for use inside another IRI. */
const slug = (iri: string) =>
  encodeURIComponent(iri).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
