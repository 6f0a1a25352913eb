/**
 * Validates a changed graph against its shapes. If every shape looks at one node only, the affected nodes are validated a few hundred
 * at a time, with the classes of the nodes they point to. Shapes that look further need the graph in memory, and are applied to the
 * nodes within their reach of the change.
 */

import { compareText, describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { NodeOfLines } from "../graph/GraphLines.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import type { Triple } from "../rdf/Term.ts"
import { termOf, termText, tripleOfParts, typePredicate } from "../rdf/Turtle.ts"
import { vocabularies } from "../rdf/Vocabulary.ts"
import {
  type AffectedNodes,
  affectedNodes,
  type ClassMembership,
  type GraphChange,
  type MarkedNode,
  subClassPredicate,
} from "./AffectedNodes.ts"
import { attachSources, listedAtMost, Severity, type Violation } from "./Report.ts"
import { pathText, type Shapes, type ShapesGraph, sh } from "./Shapes.ts"

export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", { cause: Schema.Defect() }) {
  override get message() {
    return `the validator failed: ${describe(this.cause)}; check the shapes with another tool, or leave them out`
  }
}

export interface Found {
  readonly violations: number
  /** Number of results of lower severity. */
  readonly warnings: number
  /** The first results, violations before all others, with their sources. */
  readonly listed: ReadonlyArray<Violation>
  /** Every entity with a violation. */
  readonly offenders: ReadonlySet<string>
}

/** Findings with the same key are the same, also across graphs. */
export const keyOfFinding = ({ root, rootShape, violation }: Finding): string => JSON.stringify([root, rootShape, violation])

/** A result of a shape, with its focus node and value. Nodes are N-Triples terms. */
export interface Finding {
  readonly violation: Omit<Violation, "sources">
  readonly focus: string
  readonly value: string | undefined
  /** The targeted shape and the target node from which the check started. */
  readonly rootShape: string
  readonly root: string
  readonly around: Surroundings
}

/** The part of the graph that a check had loaded. */
export interface Surroundings {
  readonly nodeOf: (node: string) => MarkedNode | undefined
  /** The subjects that point to a node. */
  readonly pointingTo: (node: string) => ReadonlyArray<string>
}

/** Whether a line of a node is excluded from the check. */
export type IsHeld = (line: string, object: string) => boolean

export interface GraphCheck<E> extends Omit<AffectedNodes<E>, "nodes"> {
  /** In the order of nodes. */
  readonly findings: (isHeld: IsHeld) => Stream.Stream<Finding, E | SortFailed | ValidationFailed>
}

type CheckError<E> = E | SortFailed | ValidationFailed

const nodesAtOnce = 500

/** Steps between yields to other fibers. Checking one node against one shape takes about 0.2 ms. */
const stepsAtOnce = 50

/** The results of the shapes in the nodes that the change can affect. */
export const validate = <E>(change: GraphChange<E>, shapes: Shapes, ontology: OntologyIndex): Effect.Effect<Found, CheckError<E>> =>
  Effect.scoped(
    Effect.gen(function* () {
      const check = yield* openCheck(change, shapes, ontology)
      const tally = new Tally()
      yield* Stream.runForEach(
        check.findings(() => false),
        ({ violation }) => Effect.sync(() => tally.add(violation)),
      )
      return yield* tally.found(check.statements)
    }),
  )

/** Like `validate`, but with the library alone and the whole graph in memory, which takes far longer. */
export const validateByLibrary = <E>(
  change: GraphChange<E>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<Found, CheckError<E>> => validate(change, { ...shapes, local: false, hops: Number.POSITIVE_INFINITY }, ontology)

export const openCheck = <E>(
  change: GraphChange<E>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<GraphCheck<E>, CheckError<E>, Scope.Scope> =>
  Effect.gen(function* () {
    const affected = yield* affectedNodes(change, shapes, ontology)
    const library = yield* shaclLibrary(shapes, affected.classes)
    const findings = shapes.local ? inPieces(affected, shapes, library) : yield* inMemory(affected, shapes, library)
    return { ...affected, findings }
  })

const inPieces =
  <E>(affected: AffectedNodes<E>, shapes: Shapes, library: ShaclLibrary): GraphCheck<E>["findings"] =>
  (isHeld) => {
    const conforms = plainConformity(shapes, affected.classes)
    const absent = new Set(targetNodes(shapes).filter((one) => affected.changed?.has(one) ?? true))
    const nodes = Stream.flattenIterable(
      Stream.map(affected.nodes, (node) => {
        const left = withoutHeld(node, isHeld)
        if (left === undefined) return []
        absent.delete(left.subject)
        return conforms(left) ? [] : [left]
      }),
    )
    const ofNodes = Stream.mapEffect(Stream.grouped(nodes, nodesAtOnce), (piece) => {
      const bySubject = new Map(piece.map((node) => [node.subject, node]))
      const around: Surroundings = { nodeOf: (node) => bySubject.get(node), pointingTo: () => [] }
      return found(shapes, library, piece, (focus) => bySubject.has(focus), around)
    })
    // Nodes that shapes name with `sh:targetNode` are checked even if the graph has no lines about them.
    const ofAbsent = Stream.unwrap(
      Effect.map(
        found(shapes, library, [], (focus) => absent.has(focus), { nodeOf: () => undefined, pointingTo: () => [] }),
        Stream.succeed,
      ),
    )
    return Stream.flattenIterable(Stream.concat(ofNodes, ofAbsent))
  }

const targetNodes = ({ triples }: Shapes): ReadonlyArray<string> =>
  triples.filter(({ predicate }) => predicate.value === `${sh}targetNode`).map(({ object }) => termText(object))

const inMemory = <E>(
  affected: AffectedNodes<E>,
  shapes: Shapes,
  library: ShaclLibrary,
): Effect.Effect<GraphCheck<E>["findings"], E | SortFailed> =>
  Effect.map(Stream.runCollect(affected.nodes), (nodes) => {
    const bySubject = new Map(nodes.map((node) => [node.subject, node]))
    const pointing = subjectsByObject(nodes, shapes.ofLiterals)
    const pointingTo = (node: string) => pointing.get(node) ?? []
    const whole: Surroundings = { nodeOf: (node) => bySubject.get(node), pointingTo }
    const within = affected.changed === undefined ? undefined : nearby(affected.changed, whole, shapes.hops)
    // The nodes that the shapes may examine from the nodes within reach.
    const sight = within === undefined ? undefined : nearby(within, whole, shapes.hops)
    const seen = sight === undefined ? nodes : nodes.filter(({ subject }) => sight.has(subject))
    return (isHeld) =>
      Stream.flattenIterable(
        Stream.suspend(() => {
          const left = seen.flatMap((node) => withoutHeld(node, isHeld) ?? [])
          const leftBySubject = new Map(left.map((node) => [node.subject, node]))
          const around: Surroundings = { nodeOf: (node) => leftBySubject.get(node), pointingTo }
          return Stream.fromEffect(found(shapes, library, left, (focus) => within?.has(focus) ?? true, around))
        }),
      )
  })

const subjectsByObject = (nodes: ReadonlyArray<NodeOfLines>, ofLiterals: boolean): ReadonlyMap<string, ReadonlyArray<string>> => {
  const pointing = new Map<string, Array<string>>()
  for (const { subject, values } of nodes) {
    for (const [predicate, objects] of values) {
      // Classes connect all nodes, so types do not count as edges.
      if (predicate === typePredicate) continue
      for (const object of objects) {
        if (!ofLiterals && object.startsWith('"')) continue
        const subjects = pointing.get(object)
        if (subjects === undefined) pointing.set(object, [subject])
        else subjects.push(subject)
      }
    }
  }
  return pointing
}

/** The nodes within a number of steps in either direction; undefined if the number is infinite. */
const nearby = (start: ReadonlySet<string>, around: Surroundings, hops: number): ReadonlySet<string> | undefined => {
  if (hops === Number.POSITIVE_INFINITY) return undefined
  const reached = new Set(start)
  let edge: ReadonlyArray<string> = [...start]
  for (let hop = 0; hop < hops && edge.length > 0; hop++) {
    edge = edge.flatMap((node) => neighbours(node, around)).filter((node) => !reached.has(node) && reached.add(node))
  }
  return reached
}

export const neighbours = (node: string, around: Surroundings): ReadonlyArray<string> => {
  const objects = [...(around.nodeOf(node)?.values ?? [])].flatMap(([predicate, values]) => (predicate === typePredicate ? [] : values))
  return [...objects, ...around.pointingTo(node)]
}

const withoutHeld = (node: MarkedNode, isHeld: IsHeld): MarkedNode | undefined => {
  const { subject, own } = node
  const lines = new Set(own.filter((line) => isHeld(line, objectOf(line, subject))))
  if (lines.size === 0) return node
  const values = new Map<string, ReadonlyArray<string>>()
  for (const [predicate, objects] of node.values) {
    const left = objects.filter((object) => !lines.has(`${subject} ${predicate} ${object} .`))
    if (left.length > 0) values.set(predicate, left)
  }
  return values.size === 0 ? undefined : { subject, values, own: own.filter((line) => !lines.has(line)) }
}

const objectOf = (line: string, subject: string): string => line.slice(line.indexOf(" ", subject.length + 1) + 1, -2)

const found = (
  shapes: Shapes,
  library: ShaclLibrary,
  nodes: ReadonlyArray<MarkedNode>,
  isWanted: (focus: string) => boolean,
  around: Surroundings,
): Effect.Effect<ReadonlyArray<Finding>, ValidationFailed> =>
  Effect.gen(function* () {
    const checking = library.check(nodes, isWanted)
    const findings: Array<Finding> = []
    const someSteps = Effect.try({
      try: () => {
        for (let step = 0; step < stepsAtOnce; step++) {
          const { done, value } = checking.next()
          if (done) return true
          if (value !== undefined) findings.push(findingOf(shapes.graph, value, around))
        }
        return false
      },
      catch: (cause) => new ValidationFailed({ cause }),
    })
    // Lets other fibers of the thread run.
    while (!(yield* someSteps)) yield* Effect.yieldNow
    const places = new Map(nodes.map(({ subject }, place) => [subject, place]))
    const placeOf = ({ root }: Finding) => places.get(root) ?? Number.MAX_SAFE_INTEGER
    // Sorted, so that the order does not depend on how the graph was split into chunks.
    return findings.sort((one, other) => placeOf(one) - placeOf(other) || compareText(keyOf(one), keyOf(other)))
  })

const findingOf = (graph: ShapesGraph, { shape, root, result }: LibraryFinding, around: Surroundings): Finding => {
  const { path, value, focusNode } = result
  const component = result.sourceConstraintComponent?.value ?? ""
  return {
    violation: {
      focus: focusNode?.value ?? "",
      ...(path === null ? {} : { property: pathText(graph, path as Triple["object"]) }),
      ...(value === null ? {} : { value: value.value }),
      ...(value?.termType === "Literal" ? { datatype: value.datatype.value } : {}),
      message: result.message.map((one) => one.value).join("; ") || nameOf(component),
      ...severityOf(result.severity?.value ?? `${sh}Violation`),
      shape: result.sourceShape?.value ?? "",
      component,
    },
    focus: focusNode === null ? root : termText(focusNode as Triple["object"]),
    value: value === null ? undefined : termText(value as Triple["object"]),
    rootShape: shape,
    root,
    around,
  }
}

const keyOf = ({ root, rootShape, violation: { focus, property, shape, value, datatype, component, message } }: Finding) =>
  JSON.stringify([root, rootShape, focus, property, shape, value, datatype, component, message])

const nameOf = (iri: string) => (iri.startsWith(sh) ? iri.slice(sh.length) : iri)

const severityOf = (iri: string): Pick<Violation, "severity" | "severityIri"> => {
  const [severity] = Severity.literals.filter((one) => iri === sh + one)
  return severity === undefined ? { severity: "Violation", severityIri: iri } : { severity }
}

/** Counts the results and keeps the first ones. Warnings never displace violations. */
export class Tally {
  readonly offenders = new Set<string>()
  violations = 0
  warnings = 0
  readonly #violations: Array<Omit<Violation, "sources">> = []
  readonly #warnings: Array<Omit<Violation, "sources">> = []

  add(one: Omit<Violation, "sources">): void {
    if (one.severity === "Violation") {
      this.violations++
      this.offenders.add(one.focus)
      if (this.#violations.length < listedAtMost) this.#violations.push(one)
    } else {
      this.warnings++
      if (this.#warnings.length < listedAtMost) this.#warnings.push(one)
    }
  }

  found<E>(statements: Stream.Stream<NodeOfLines, E>): Effect.Effect<Found, E> {
    const first = [...this.#violations, ...this.#warnings].slice(0, listedAtMost)
    return Effect.map(attachSources(statements, first), (listed) => ({
      violations: this.violations,
      warnings: this.warnings,
      listed,
      offenders: this.offenders,
    }))
  }
}

// The fast path: it recognises conforming nodes whose shapes require only classes, datatypes and counts. The SHACL library checks every
// other node, so that all reported results are the library's. Nearly every node of a real graph conforms: 22,500 conforming nodes take
// 3.2 s of CPU time with the library alone, and 0.3 s with this fast path.

const { xsd } = vocabularies

/** Whether a node or one of its values is known to conform. False: unknown. */
type Check = (term: string, node: NodeOfLines) => boolean

type Target = (node: NodeOfLines) => boolean

/** True: the node conforms to all shapes. False: unknown, the library must check. Requires local shapes. */
export const plainConformity = ({ graph }: Shapes, classes: ClassMembership): ((node: NodeOfLines) => boolean) => {
  const shapes = graph.targeted().map((shape) => ({ targets: targetsOf(graph, shape, classes), check: checkOf(graph, shape, classes) }))
  return (node) => shapes.every(({ targets, check }) => !targets.some((isTarget) => isTarget(node)) || check(node.subject, node))
}

const targetsOf = (graph: ShapesGraph, shape: string, classes: ClassMembership): ReadonlyArray<Target> => [
  ...graph.targetClasses(shape).map(
    (type): Target =>
      ({ subject }) =>
        classes.isOf(subject, type),
  ),
  ...graph.values(shape, `${sh}targetSubjectsOf`).map(
    ({ value }): Target =>
      ({ values }) =>
        values.has(`<${value}>`),
  ),
  ...graph.values(shape, `${sh}targetNode`).map(
    ({ value }): Target =>
      ({ subject }) =>
        termOf(subject).value === value,
  ),
]

/** Whether a predicate of a shape is not a constraint. */
const isSilent = (predicate: string): boolean => !predicate.startsWith(sh) || silent.has(predicate.slice(sh.length))

const silent = new Set("message severity name description order group defaultValue path targetClass targetSubjectsOf targetNode".split(" "))

/** Constraints that apply to each value separately: a property without values satisfies all of them. */
const ofEachValue = new Set(
  [
    ..."and class datatype disjoint in languageIn lessThan lessThanOrEquals maxExclusive maxInclusive maxLength".split(" "),
    ..."minExclusive minInclusive minLength node nodeKind not or pattern flags property uniqueLang xone".split(" "),
  ].map((name) => sh + name),
)

const unknown: Check = () => false

const checkOf = (graph: ShapesGraph, shape: string, classes: ClassMembership): Check => {
  const path = graph.values(shape, `${sh}path`)
  const checks: Array<Check> = []
  const counts: Array<(count: number) => boolean> = []
  for (const [predicate, objects] of graph.of(shape)) {
    if (isSilent(predicate)) continue
    for (const object of objects) {
      const count = Number(object.value)
      if (predicate === `${sh}minCount`) counts.push((found) => found >= count)
      else if (predicate === `${sh}maxCount`) counts.push((found) => found <= count)
      else if (ofEachValue.has(predicate)) checks.push(constraintOf(graph, predicate, object, classes))
      else return unknown
    }
  }
  const isEach: Check = (term, node) => checks.every((check) => check(term, node))
  if (path.length === 0) return counts.length === 0 ? isEach : unknown
  const [property] = path
  if (path.length > 1 || property?.termType !== "NamedNode") return unknown
  return (term, node) => {
    // Of the nodes that this node points to, only the classes are known.
    if (term !== node.subject) return false
    const values = node.values.get(`<${property.value}>`) ?? []
    return counts.every((isCount) => isCount(values.length)) && values.every((value) => isEach(value, node))
  }
}

const constraintOf = (graph: ShapesGraph, predicate: string, object: Triple["object"], classes: ClassMembership): Check => {
  const { value } = object
  switch (predicate) {
    case `${sh}class`:
      return (term) => classes.isOf(term, value)
    case `${sh}datatype`:
      return (term) => isPlainlyOf(term, value)
    case `${sh}nodeKind`:
      return (term) => isPlainlyOfKind(term, value)
    case `${sh}property`:
    case `${sh}node`:
      return checkOf(graph, value, classes)
    case `${sh}or`: {
      const choices = graph.list(object).map((choice) => checkOf(graph, choice.value, classes))
      return (term, node) => choices.some((check) => check(term, node))
    }
    case `${sh}not`: {
      // A negation needs an exact answer, not "unknown". Only class membership is exact.
      const [inner, ...others] = [...graph.of(value)].filter(([one]) => !isSilent(one))
      if (inner?.[0] !== `${sh}class` || others.length > 0 || inner[1].length !== 1) return unknown
      if (graph.of(value).has(`${sh}path`)) return unknown
      return (term) => !classes.isOf(term, inner[1][0]?.value ?? "")
    }
    default:
      return unknown
  }
}

const isPlainlyOfKind = (term: string, kind: string): boolean => {
  if (term.startsWith("<")) return kind.endsWith("IRI") || kind === `${sh}IRIOrLiteral`
  return kind === (term.startsWith('"') ? `${sh}Literal` : `${sh}BlankNode`)
}

/** The common lexical forms of a datatype. The library decides whether any other form is valid. */
const usualForms: Readonly<Record<string, RegExp>> = {
  [`${xsd}string`]: /^/,
  [`${xsd}integer`]: /^-?\d+$/,
  [`${xsd}nonNegativeInteger`]: /^\d+$/,
  [`${xsd}decimal`]: /^-?\d+(\.\d+)?$/,
  [`${xsd}double`]: /^-?\d+(\.\d+)?$/,
  [`${xsd}boolean`]: /^(true|false)$/,
  [`${xsd}gYear`]: /^[1-9]\d{3}$/,
  [`${xsd}date`]: /^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$/,
  [`${xsd}dateTime`]: /^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/,
}

/** Whether an N-Triples term is a literal of the datatype in a common lexical form. */
const isPlainlyOf = (term: string, datatype: string): boolean => {
  const literal = termOf(term)
  if (literal.termType !== "Literal" || literal.language !== "") return false
  return literal.datatype.value === datatype && (usualForms[datatype]?.test(literal.value) ?? false)
}

// The SHACL library, loaded on first use, with the shapes parsed once for all chunks of a graph.

type Validator = InstanceType<typeof import("rdf-validate-shacl")["default"]>
type Factory = Validator["factory"]
type Dataset = ReturnType<Factory["dataset"]>
type LibraryResult = Awaited<ReturnType<Validator["validate"]>>["results"][number]

interface ShaclLibrary {
  /**
   * Applies every shape to its wanted focus nodes, given nodes of a graph and the classes of the nodes they point to. It yields after
   * each small step, mostly without a finding, so that the caller can pause in between. Throws the exceptions of the library.
   */
  readonly check: (nodes: Iterable<NodeOfLines>, isWanted: (focus: string) => boolean) => Generator<LibraryFinding | undefined>
}

/** A result, with the targeted shape and the focus node of its check, as an N-Triples term. */
interface LibraryFinding {
  readonly shape: string
  readonly root: string
  readonly result: LibraryResult
}

const shaclLibrary = (shapes: Shapes, classes: ClassMembership): Effect.Effect<ShaclLibrary> =>
  Effect.map(
    Effect.promise(() => Promise.all([import("rdf-validate-shacl"), import("n3")])),
    ([{ default: Validator }, { DataFactory, Store }]) => {
      const validator = new Validator(new Store(shapes.triples.map((triple) => quadOf(DataFactory, triple))))
      const { factory, validationEngine: engine } = validator
      // The library treats a node as conforming after 50 checks by one shape. Only recursive shapes need that limit.
      if (!shapes.recursive) engine.maxNodeChecks = 0
      const asked = new ClassesAskedFor(shapes.graph.classesAskedFor(), classes)
      return {
        check: function* (nodes, isWanted) {
          const dataset = factory.dataset()
          const add = adder(factory, dataset, classes, asked)
          for (const node of nodes) {
            add(node)
            yield
          }
          const data = factory.clownface({ dataset })
          validator.$data = data
          for (const shape of validator.shapesGraph.shapesWithTarget) {
            for (const focus of shape.getTargetNodes(data)) {
              const root = termText(focus as Triple["object"])
              if (!isWanted(root)) continue
              // One report per focus node, so that the focus node of every result is known.
              engine.initReport()
              engine.violationsCount = 0
              engine.nestedResults = {}
              const failed = engine.validateNodeAgainstShape(focus, shape, data)
              yield
              if (failed) for (const result of engine.getReport().results) yield { shape: shape.shapeNode.value, root, result }
            }
          }
        },
      }
    },
  )

/**
 * The library follows every path of `rdfs:subClassOf` upwards, and fails on a cycle. So a class is made a direct subclass
 * of the nearest classes that shapes mention, and members of a cycle get each other's classes.
 */
class ClassesAskedFor {
  readonly #asked: ReadonlySet<string>
  readonly #classes: ClassMembership
  readonly #nearest = new Map<string, ReadonlyArray<string>>()
  #hierarchy = 0

  constructor(asked: ReadonlySet<string>, classes: ClassMembership) {
    this.#asked = asked
    this.#classes = classes
  }

  isCircular(one: string, other: string): boolean {
    return one === other || (this.#classes.above(one).has(other) && this.#classes.above(other).has(one))
  }

  /** The other mentioned classes of the same cycle. */
  same(type: string): ReadonlyArray<string> {
    return [...this.#classes.above(type)].filter((other) => other !== type && this.#asked.has(other) && this.isCircular(type, other))
  }

  /** The mentioned superclasses with no other mentioned class in between. */
  nearest(type: string): ReadonlyArray<string> {
    if (this.#hierarchy !== this.#classes.hierarchy) this.#nearest.clear()
    this.#hierarchy = this.#classes.hierarchy
    const known = this.#nearest.get(type)
    if (known !== undefined) return known
    const above = [...this.#classes.above(type)].filter((one) => this.#asked.has(one) && !this.isCircular(type, one))
    const isBetween = (one: string, other: string) => this.#classes.above(one).has(other) && !this.isCircular(one, other)
    const nearest = above.filter((one) => !above.some((other) => isBetween(other, one)))
    this.#nearest.set(type, nearest)
    return nearest
  }
}

/** Adds nodes to a dataset, with their classes and the classes of the nodes they point to. */
const adder = (factory: Factory, dataset: Dataset, classes: ClassMembership, asked: ClassesAskedFor) => {
  const seen = new Set<string>()
  const typed = new Set<string>()
  const add = (subject: string, predicate: string, object: string) => {
    if (predicate === subClassPredicate && asked.isCircular(termOf(subject).value, termOf(object).value)) return
    dataset.add(quadOf(factory, tripleOfParts({ subject, predicate, object })))
  }
  const addAbove = (type: string) => {
    if (seen.has(type)) return
    seen.add(type)
    for (const parent of asked.nearest(termOf(type).value)) {
      add(type, subClassPredicate, `<${parent}>`)
      addAbove(`<${parent}>`)
    }
  }
  const addClasses = (node: string) => {
    if (typed.has(node)) return
    typed.add(node)
    for (const type of classes.typesOf(node)) {
      add(node, typePredicate, type)
      for (const other of asked.same(termOf(type).value)) add(node, typePredicate, `<${other}>`)
      addAbove(type)
    }
  }
  return ({ subject, values }: NodeOfLines): void => {
    addClasses(subject)
    for (const [predicate, objects] of values) {
      for (const object of objects) {
        add(subject, predicate, object)
        if (!object.startsWith('"')) addClasses(object)
      }
    }
  }
}

/** The term factory of a library. */
type TermFactory = Pick<Factory, "namedNode" | "blankNode" | "literal" | "quad">

const quadOf = (factory: TermFactory, { subject, predicate, object }: Triple) => {
  const node = ({ termType, value }: Triple["subject"]) => (termType === "NamedNode" ? factory.namedNode(value) : factory.blankNode(value))
  const value =
    object.termType === "Literal"
      ? factory.literal(object.value, object.language === "" ? factory.namedNode(object.datatype.value) : object.language)
      : node(object)
  return factory.quad(node(subject), factory.namedNode(predicate.value), value)
}
