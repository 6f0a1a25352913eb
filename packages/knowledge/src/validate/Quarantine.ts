/**
 * Finds the statements of a batch that keep the graph from conforming, and holds them back: single statements, not whole entities.
 * The graph is then checked again without them, since the remaining statements may violate a shape, until no statement of the batch
 * contributes to a violation.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { identifierPredicate, labelPredicate, nodesOfLines, statedLine } from "../graph/GraphLines.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import type { SortFailed } from "../rdf/LineSort.ts"
import { lineParts, termOf, typePredicate } from "../rdf/Turtle.ts"
import { owl, prov } from "../rdf/Vocabulary.ts"
import { type GraphChange, isStatement, type MarkedNode } from "./AffectedNodes.ts"
import { listedAtMost, type QuarantinedStatement, sourcesOfLines, type Violation } from "./Report.ts"
import { predicatesOf, type Shapes, sh } from "./Shapes.ts"
import {
  type Finding,
  type Found,
  type GraphCheck,
  keyOfFinding,
  neighbours,
  openCheck,
  Tally,
  type ValidationFailed,
} from "./Validation.ts"

export interface Quarantine extends Found {
  readonly held: HeldStatements
  /** Number of remaining violations: those that the statements of other batches cause. */
  readonly remaining: number
  /** The first held statements, with their reasons. */
  readonly statements: ReadonlyArray<QuarantinedStatement>
}

type Reason = Omit<Violation, "sources">

/** The statements of a batch that are held back, by line. */
class HeldStatements {
  readonly #lines = new Set<string>()
  /** The reasons of the first `listedAtMost` lines. */
  readonly #reasons = new Map<string, Reason>()
  /** Entities that are held back completely, as N-Triples terms: statements that point to them are held back too. */
  readonly #entities = new Map<string, Reason>()

  get size(): number {
    return this.#lines.size
  }

  get reasons(): ReadonlyMap<string, Reason> {
    return this.#reasons
  }

  /** The IRIs of the subjects of held lines. */
  entities(): ReadonlyArray<string> {
    return [...new Set([...this.#lines].map((line) => termOf(lineParts(line).subject).value))].sort()
  }

  has(line: string): boolean {
    return this.#lines.has(line)
  }

  /** Sorted. */
  lines(): ReadonlyArray<string> {
    return [...this.#lines].sort()
  }

  add(line: string, reason: Reason): void {
    this.#lines.add(line)
    if (this.#reasons.size < listedAtMost) this.#reasons.set(line, reason)
  }

  addEntity(node: string, reason: Reason): void {
    this.#entities.set(node, reason)
  }

  /** Whether a line is held back. Adds the line if its object is a held entity. */
  holds(line: string, object: string): boolean {
    if (this.#lines.has(line)) return true
    const reason = this.#entities.get(object)
    if (reason !== undefined) this.add(line, reason)
    return reason !== undefined
  }
}

/** The violations, and the statements of the batch to hold back so that the graph conforms. */
export const quarantine = <E>(
  change: GraphChange<E>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<Quarantine, E | SortFailed | ValidationFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const check = yield* openCheck(change, shapes, ontology)
      const tally = new Tally()
      const held = new HeldStatements()
      const known = new Set<string>()
      const eachFinding = (each: (finding: Finding) => void) =>
        Stream.runForEach(
          check.findings((line, object) => held.holds(line, object)),
          (finding) =>
            Effect.sync(() => {
              const key = keyOfFinding(finding)
              if (!known.has(key)) tally.add(finding.violation)
              known.add(key)
              if (finding.violation.severity === "Violation") each(finding)
            }),
        )
      yield* eachFinding(() => undefined)
      let unresolved = 0
      if (tally.violations > 0) {
        const inherited = change.existing === undefined ? new Set<string>() : yield* withoutBatch(check)
        for (;;) {
          const round = new Round(check, shapes, held, inherited)
          yield* eachFinding((finding) => round.add(finding))
          unresolved = round.unresolved
          if (round.isConforming) break
          round.hold()
        }
      }
      const found = yield* tally.found(check.statements)
      return { ...found, held, remaining: unresolved, statements: yield* statementsOf(check, held) }
    }),
  )

/** The keys of the violations in the graph without the batch. */
const withoutBatch = <E>(check: GraphCheck<E>): Effect.Effect<ReadonlySet<string>, E | SortFailed | ValidationFailed> =>
  Effect.gen(function* () {
    const { classes, ownTypes, ownHierarchy } = check
    const ofClasses = [...[...ownTypes.values()].flat(), ...ownHierarchy].map(lineParts)
    for (const parts of ofClasses) classes.remove(parts)
    const found = yield* Stream.runCollect(
      Stream.map(
        check.findings(() => true),
        keyOfFinding,
      ),
    )
    for (const parts of ofClasses) classes.restore(parts)
    return new Set(found)
  })

/** One check of the graph without the statements held back so far. */
class Round<E> {
  /** Number of violations to which no statement of the batch contributes. */
  unresolved = 0
  /** The statements to hold back after the round, with their violations. */
  readonly #lines = new Map<string, Reason>()
  readonly #entities = new Map<string, Reason>()
  /** Lines and entities of violations by a single value, such as of a minimum; not by a count, to which good values contribute. */
  readonly #wrongAlone = new Set<string>()
  readonly #check: GraphCheck<E>
  readonly #shapes: Shapes
  readonly #held: HeldStatements
  readonly #inherited: ReadonlySet<string>

  constructor(check: GraphCheck<E>, shapes: Shapes, held: HeldStatements, inherited: ReadonlySet<string>) {
    this.#inherited = inherited
    this.#check = check
    this.#shapes = shapes
    this.#held = held
  }

  get isConforming(): boolean {
    return this.#lines.size === 0
  }

  add(finding: Finding): void {
    const lines = this.#offending(finding)
    if (lines.length === 0) this.unresolved++
    const isOfValue = finding.value !== undefined && finding.value !== finding.focus
    for (const line of lines) for (const held of this.#addLine(line, finding)) if (isOfValue) this.#wrongAlone.add(held)
  }

  /** Holds values that are wrong by themselves first: without them, there may be no more values than a shape allows. */
  hold(): void {
    const isHeld = (one: string) => this.#wrongAlone.size === 0 || this.#wrongAlone.has(one)
    for (const [line, reason] of this.#lines) {
      if (!isHeld(line)) continue
      this.#held.add(line, reason)
      this.#check.classes.remove(lineParts(line))
    }
    for (const [node, reason] of this.#entities) if (isHeld(node)) this.#held.addEntity(node, reason)
  }

  /** Returns the lines to hold back, and the entity if all of it is held back. */
  #addLine(line: string, { violation, around }: Finding): ReadonlyArray<string> {
    if (!this.#lines.has(line)) this.#lines.set(line, violation)
    const { subject, predicate } = lineParts(line)
    if (predicate !== typePredicate) return [line]
    // An entity that only the batch states and that has no class left is held back completely.
    const node = around.nodeOf(subject)
    if (node === undefined || !isOfBatchAlone(node)) return [line]
    const types = node.values.get(typePredicate) ?? []
    if (types.some((type) => !this.#lines.has(`${subject} ${typePredicate} ${type} .`))) return [line]
    this.#entities.set(subject, violation)
    for (const other of node.own) if (!this.#lines.has(other)) this.#lines.set(other, violation)
    return [subject, ...node.own]
  }

  /** The lines of the batch that cause the violation: the first non-empty group of candidates, closest to the violation first. */
  #offending(finding: Finding): ReadonlyArray<string> {
    for (const candidates of this.#candidates(finding)) {
      const lines = [...candidates].filter((line) => !this.#held.has(line))
      if (lines.length > 0) return lines
    }
    return []
  }

  *#candidates(finding: Finding): Generator<Iterable<string>> {
    const { focus, root, around } = finding
    if (!lacking.has(finding.violation.component ?? "")) yield* this.#ofValues(finding)
    // The batch does not cause violations that exist without it.
    if (this.#inherited.has(keyOfFinding(finding))) return
    yield this.#ofTarget(finding)
    yield this.#typesOf(focus, finding)
    const own = around.nodeOf(focus)?.own ?? []
    yield own.filter((line) => !isDescriptive(line))
    yield own
    yield [...(around.nodeOf(focus)?.values.values() ?? [])].flat().flatMap((object) => this.#check.ownTypes.get(object) ?? [])
    // If shapes look beyond one node, any statement along the path may be the cause.
    let edge: ReadonlyArray<string> = [root]
    const reached = new Set(edge)
    for (let hop = 0; hop <= this.#shapes.hops && edge.length > 0; hop++) {
      yield edge.flatMap((node) => [...(around.nodeOf(node)?.own ?? []), ...this.#typesOf(node, finding)])
      edge = edge.flatMap((node) => neighbours(node, around)).filter((node) => !reached.has(node) && reached.add(node))
    }
    yield this.#check.ownHierarchy
  }

  /** The lines with the values of the path: the refused value, or all values where there are too many. */
  *#ofValues({ focus, value, violation: { property, shape }, around }: Finding): Generator<Iterable<string>> {
    const { graph } = this.#shapes
    const paths = graph.values(shape, `${sh}path`).flatMap((path) => predicatesOf(graph, path))
    const predicates = new Set([...paths, ...(property === undefined || property.includes("<") ? [] : [property])].map((iri) => `<${iri}>`))
    const outgoing = (around.nodeOf(focus)?.own ?? []).map((line) => ({ line, ...lineParts(line) }))
    if (value === undefined || value === focus) {
      if (predicates.size === 0) return
      yield outgoing.filter(({ predicate }) => predicates.has(predicate)).map(({ line }) => line)
      const incoming = around.pointingTo(focus).flatMap((subject) => around.nodeOf(subject)?.own ?? [])
      yield incoming.filter((line) => {
        const { predicate, object } = lineParts(line)
        return object === focus && predicates.has(predicate)
      })
      return
    }
    yield outgoing.filter(({ predicate, object }) => object === value && predicates.has(predicate)).map(({ line }) => line)
    yield (around.nodeOf(value)?.own ?? []).filter((line) => {
      const { predicate, object } = lineParts(line)
      return object === focus && predicates.has(predicate)
    })
    yield outgoing.filter(({ object }) => object === value).map(({ line }) => line)
    // The other side of a comparison, if the batch states it.
    const compared = new Set(comparisons.flatMap((name) => graph.values(shape, sh + name)).map((other) => `<${other.value}>`))
    yield outgoing.filter(({ predicate }) => compared.has(predicate)).map(({ line }) => line)
    yield this.#typesOf(value, { around })
  }

  /** The lines that make the node a target of the shape. */
  *#ofTarget({ root, rootShape, around }: Finding): Generator<string> {
    const { graph } = this.#shapes
    const { classes } = this.#check
    const targets = graph.targetClasses(rootShape)
    const subjectsOf = new Set(graph.values(rootShape, `${sh}targetSubjectsOf`).map(({ value }) => `<${value}>`))
    for (const line of around.nodeOf(root)?.own ?? []) {
      const { predicate, object } = lineParts(line)
      const type = predicate === typePredicate ? termOf(object).value : undefined
      if (subjectsOf.has(predicate)) yield line
      else if (type !== undefined && targets.some((one) => one === type || classes.above(type).has(one))) yield line
    }
    const objectsOf = new Set(graph.values(rootShape, `${sh}targetObjectsOf`).map(({ value }) => `<${value}>`))
    if (objectsOf.size === 0) return
    for (const subject of around.pointingTo(root)) {
      for (const line of around.nodeOf(subject)?.own ?? []) {
        const { predicate, object } = lineParts(line)
        if (object === root && objectsOf.has(predicate)) yield line
      }
    }
  }

  #typesOf(node: string, { around }: Pick<Finding, "around">): ReadonlyArray<string> {
    const lines = around.nodeOf(node)?.own ?? this.#check.ownTypes.get(node) ?? []
    return lines.filter((line) => lineParts(line).predicate === typePredicate)
  }
}

/** Constraints that a missing value violates, so no value is the cause. */
const lacking: ReadonlySet<string> = new Set(["MinCount", "HasValue", "QualifiedMinCount"].map((name) => `${sh}${name}ConstraintComponent`))

const comparisons = ["equals", "disjoint", "lessThan", "lessThanOrEquals"]

const descriptive = new Set([labelPredicate, `<${owl.sameAs}>`, `<${prov.wasDerivedFrom}>`, identifierPredicate])

/** Whether the line is a label or the provenance of an entity. */
const isDescriptive = (line: string): boolean => descriptive.has(lineParts(line).predicate)

const isOfBatchAlone = ({ values, own }: MarkedNode): boolean => [...values.values()].flat().length === own.length

const statementsOf = <E>(
  { statements }: GraphCheck<E>,
  { reasons }: HeldStatements,
): Effect.Effect<ReadonlyArray<QuarantinedStatement>, E | SortFailed> =>
  Effect.map(sourcesOfLines(statements, [...reasons.keys()]), (sources) =>
    [...reasons].map(([line, { message, shape }]) => {
      const { subject, predicate, object } = lineParts(line)
      const value = termOf(object)
      return {
        subject: termOf(subject).value,
        property: termOf(predicate).value,
        value: value.value,
        ...(value.termType === "Literal" ? { datatype: value.datatype.value } : {}),
        message,
        shape,
        sources: sources.get(line) ?? [],
      }
    }),
  )

/** The lines of the batch that are not held back. */
export const withoutHeld = <E, R>(lines: Stream.Stream<string, E, R>, held: HeldLines): Stream.Stream<string, E, R> =>
  parted(lines, held, false)

/** The lines that are held back, and the reified statements about them. */
export const onlyHeld = <E, R>(lines: Stream.Stream<string, E, R>, held: HeldLines): Stream.Stream<string, E, R> =>
  parted(lines, held, true)

/** The lines that are held back. */
type HeldLines = Pick<HeldStatements, "has">

const parted = <E, R>(lines: Stream.Stream<string, E, R>, held: HeldLines, wanted: boolean): Stream.Stream<string, E, R> =>
  Stream.flattenIterable(
    Stream.map(nodesOfLines(lines), (node) => {
      const stated = isStatement(node) ? (statedLine(node) ?? "") : undefined
      const isWitness = stated !== undefined && held.has(stated)
      return [...node.values].flatMap(([predicate, objects]) =>
        objects.flatMap((object) => {
          const line = `${node.subject} ${predicate} ${object} .`
          return (isWitness || (stated === undefined && held.has(line))) === wanted ? [line] : []
        }),
      )
    }),
  )
