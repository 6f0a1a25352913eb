/**
 * Validates a changed graph against its shapes. If every shape looks at one node only, the affected nodes are validated a few hundred
 * at a time, with the classes of the nodes they point to. Shapes that look further need the graph in memory, and are applied to the
 * nodes within their reach of the change.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { NodeOfLines } from "../graph/StoredLines.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { compareCodePoints, type SortFailed } from "../rdf/LineSort.ts"
import { termText, typePredicate } from "../rdf/NTriples.ts"
import type { Triple } from "../rdf/Term.ts"
import { describe } from "../storage/Describe.ts"
import { type AffectedNodes, affectedNodes, type GraphChange, type MarkedNode } from "./AffectedNodes.ts"
import { plainConformity } from "./PlainConformity.ts"
import { attachSources, listedAtMost, Severity, type Violation } from "./Report.ts"
import { type LibraryFinding, type ShaclLibrary, shaclLibrary } from "./ShaclLibrary.ts"
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
    return findings.sort((one, other) => placeOf(one) - placeOf(other) || compareCodePoints(keyOf(one), keyOf(other)))
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
