/**
 * The nodes that a change to a graph can affect. One pass over the changed graph keeps the classes of all nodes, and the nodes whose
 * validation results may differ from before. So a batch that adds a hundred facts to a graph of a million is validated by checking a
 * few hundred nodes.
 */
import { releasing } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { mergedStreams, type NodeOfLines, nodesOfLines, statementType } from "../graph/GraphLines.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { openPart, SortFailed } from "../rdf/LineSort.ts"
import { detached, type LineParts, lineParts, termOf, typePredicate } from "../rdf/Turtle.ts"
import { rdf, rdfs } from "../rdf/Vocabulary.ts"
import type { Shapes } from "./Shapes.ts"

/** Sorted lines, each once. */
export interface GraphChange<E> {
  /** The statements of a batch. Read several times. */
  readonly added: Stream.Stream<string, E>
  /** The statements of other batches. Read once. */
  readonly existing?: Stream.Stream<string, E>
  /** The earlier statements that `added` replaces. */
  readonly replaced?: Stream.Stream<string, E>
}

/** A node of the changed graph. */
export interface MarkedNode extends NodeOfLines {
  /** The lines that only the batch states. */
  readonly own: ReadonlyArray<string>
}

export interface AffectedNodes<E> {
  readonly classes: ClassMembership
  /** The nodes to check. If shapes look beyond one node, all nodes. */
  readonly nodes: Stream.Stream<MarkedNode, E | SortFailed>
  /** The reified statements of the facts about these nodes. */
  readonly statements: Stream.Stream<NodeOfLines, E | SortFailed>
  /** Subjects and objects of changed statements; undefined if every node counts as changed. */
  readonly changed: ReadonlySet<string> | undefined
  /** The type lines that only the batch states, by node. */
  readonly ownTypes: ReadonlyMap<string, ReadonlyArray<string>>
  /** The `rdfs:subClassOf` lines that only the batch states. */
  readonly ownHierarchy: ReadonlyArray<string>
}

/** Whether the node is a reified statement. These are not validated. */
export const isStatement = ({ values }: NodeOfLines): boolean => values.get(typePredicate)?.includes(statementType) ?? false

export const affectedNodes = <E>(
  change: GraphChange<E>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<AffectedNodes<E>, E | SortFailed, Scope.Scope> => {
  const { added, existing, replaced = Stream.empty } = change
  return existing === undefined ? all(added, ontology) : differing(added, existing, replaced, shapes, ontology)
}

/** Appended to lines that only the batch states. N-Triples escape tabs, and the mark does not change the order of lines. */
const ownMark = "\t"

const all = <E>(added: Stream.Stream<string, E>, ontology: OntologyIndex): Effect.Effect<AffectedNodes<E>, E> =>
  Effect.gen(function* () {
    const classes = new ClassMembership(ontology)
    const nodes = nodesOfLines(added)
    const ownHierarchy: Array<string> = []
    yield* Stream.runForEach(nodes, (node) =>
      Effect.sync(() => {
        if (isStatement(node)) return
        classes.add(node)
        for (const parent of node.values.get(subClassPredicate) ?? []) ownHierarchy.push(`${node.subject} ${subClassPredicate} ${parent} .`)
      }),
    )
    return {
      classes,
      nodes: Stream.filter(markedNodes(Stream.map(added, (line) => line + ownMark)), (node) => !isStatement(node)),
      statements: Stream.filter(nodes, isStatement),
      changed: undefined,
      ownTypes: new Map(),
      ownHierarchy,
    }
  })

const differing = <E>(
  added: Stream.Stream<string, E>,
  existing: Stream.Stream<string, E>,
  replaced: Stream.Stream<string, E>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<AffectedNodes<E>, E | SortFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const touched = yield* touchedBy(Stream.concat(added, replaced))
    const keepsAll = !shapes.local || touched.hierarchy
    const scan = new ChangeScan(touched, keepsAll, shapes.ofLiterals, ontology)
    const marked = mergedStreams([
      existing,
      Stream.map(added, (line) => line + ownMark),
      Stream.map(replaced, (line) => line + ownMark + ownMark),
    ])
    const kept = Stream.concat(
      Stream.mapArray(marked, (batch) => [scan.add(batch)]),
      Stream.sync(() => scan.end()),
    )
    const lines = yield* spilled(kept)
    const nodes = markedNodes(lines)
    return {
      classes: scan.classes,
      nodes: Stream.filter(nodes, (node) => !isStatement(node)),
      statements: Stream.filter(nodes, isStatement),
      changed: touched.hierarchy ? undefined : scan.changed,
      ownTypes: scan.ownTypes,
      ownHierarchy: scan.ownHierarchy,
    }
  })

/** The subjects of changed lines, collected before the graph is read. */
interface Touched {
  readonly subjects: ReadonlySet<string>
  readonly typed: ReadonlySet<string>
  /** Whether the change contains `rdfs:subClassOf`: then the classes of every node may differ from before. */
  readonly hierarchy: boolean
}

const touchedBy = <E>(lines: Stream.Stream<string, E>): Effect.Effect<Touched, E> =>
  Effect.gen(function* () {
    const subjects = new Set<string>()
    const typed = new Set<string>()
    let hierarchy = false
    yield* Stream.runForEach(nodesOfLines(lines), (node) =>
      Effect.sync(() => {
        if (isStatement(node)) return
        const subject = detached(node.subject)
        subjects.add(subject)
        if (node.values.has(typePredicate)) typed.add(subject)
        hierarchy ||= node.values.has(subClassPredicate)
      }),
    )
    return { subjects, typed, hierarchy }
  })

interface ScannedLine extends LineParts {
  readonly line: string
  /** Whether the line is in the graph before the change, after it, and after it only because of the batch. */
  readonly before: boolean
  readonly after: boolean
  readonly own: boolean
}

/** Scans the marked lines in order, and keeps those of affected nodes. */
class ChangeScan {
  readonly classes: ClassMembership
  readonly changed = new Set<string>()
  readonly ownTypes = new Map<string, ReadonlyArray<string>>()
  readonly ownHierarchy: Array<string> = []
  readonly #touched: Touched
  readonly #keepsAll: boolean
  readonly #ofLiterals: boolean
  #subject = ""
  #node: Array<ScannedLine> = []
  #line = ""
  /** Indexed by the number of marks: stated by others, stated by the batch, replaced. */
  #stated: [boolean, boolean, boolean] = [false, false, false]

  constructor(touched: Touched, keepsAll: boolean, ofLiterals: boolean, ontology: OntologyIndex) {
    this.#touched = touched
    this.#ofLiterals = ofLiterals
    this.#keepsAll = keepsAll
    this.classes = new ClassMembership(ontology)
  }

  add(batch: ReadonlyArray<string>): ReadonlyArray<string> {
    const kept: Array<string> = []
    for (const marked of batch) {
      const marks = marked.endsWith(ownMark) ? (marked.endsWith(ownMark + ownMark) ? 2 : 1) : 0
      const line = marks === 0 ? marked : marked.slice(0, -marks)
      if (line !== this.#line) {
        this.#endLine(kept)
        this.#line = line
      }
      this.#stated[marks] = true
    }
    return kept
  }

  end(): ReadonlyArray<string> {
    const kept: Array<string> = []
    this.#endLine(kept)
    this.#endNode(kept)
    return kept
  }

  #endLine(kept: Array<string>): void {
    if (this.#line === "") return
    const [others, batch, replaced] = this.#stated
    const parts = lineParts(this.#line)
    if (parts.subject !== this.#subject) {
      this.#endNode(kept)
      this.#subject = parts.subject
    }
    this.#node.push({ ...parts, line: this.#line, before: others || replaced, after: others || batch, own: batch && !others })
    this.#line = ""
    this.#stated = [false, false, false]
  }

  #endNode(kept: Array<string>): void {
    const present = this.#node.filter(({ after }) => after)
    const values = new Map<string, Array<string>>()
    for (const { predicate, object } of present) {
      const objects = values.get(predicate)
      if (objects === undefined) values.set(predicate, [object])
      else objects.push(object)
    }
    const node: NodeOfLines = { subject: this.#subject, values }
    if (isStatement(node) ? this.#isWitness(node) : this.#isAffected(node)) {
      for (const { line, own } of present) kept.push(own ? line + ownMark : line)
    }
    this.#node = []
  }

  #isAffected(node: NodeOfLines): boolean {
    this.classes.add(node)
    let isChanged = false
    for (const { before, after, object } of this.#node) {
      if (before === after) continue
      isChanged = true
      if (this.#ofLiterals || !object.startsWith('"')) this.changed.add(detached(object))
    }
    if (isChanged) {
      const subject = detached(this.#subject)
      this.changed.add(subject)
      const ownLines = (of: string) => this.#node.flatMap(({ own, predicate, line }) => (own && predicate === of ? [detached(line)] : []))
      const types = ownLines(typePredicate)
      if (types.length > 0) this.ownTypes.set(subject, types)
      this.ownHierarchy.push(...ownLines(subClassPredicate))
    }
    return this.#keepsAll || isChanged || this.#node.some(({ after, object }) => after && this.#touched.typed.has(object))
  }

  #isWitness({ values }: NodeOfLines): boolean {
    const isOf = (part: string, among: ReadonlySet<string>) => (values.get(`<${part}>`) ?? []).some((one) => among.has(one))
    return isOf(rdf.subject, this.#touched.subjects) || isOf(rdf.object, this.#touched.typed)
  }
}

/** Marked lines grouped by subject. */
const markedNodes = <E>(lines: Stream.Stream<string, E>): Stream.Stream<MarkedNode, E> =>
  Stream.suspend(() => {
    let subject = ""
    let values = new Map<string, Array<string>>()
    let own: Array<string> = []
    const body = Stream.flattenIterable(
      Stream.mapArray(lines, (batch) => {
        const done: Array<MarkedNode> = []
        for (const marked of batch) {
          const isOwn = marked.endsWith(ownMark)
          const line = isOwn ? marked.slice(0, -1) : marked
          const parts = lineParts(line)
          if (parts.subject !== subject) {
            if (subject !== "") done.push({ subject, values, own })
            subject = parts.subject
            values = new Map()
            own = []
          }
          const objects = values.get(parts.predicate)
          if (objects === undefined) values.set(parts.predicate, [parts.object])
          else objects.push(parts.object)
          if (isOwn) own.push(line)
        }
        return [done]
      }),
    )
    const last = Stream.suspend(() => (subject === "" ? Stream.empty : Stream.succeed({ subject, values, own })))
    return Stream.concat(body, last)
  })

/** Writes lines to an unlinked temporary file. The stream can be read repeatedly until the scope closes. */
const spilled = <E>(
  batches: Stream.Stream<ReadonlyArray<string>, E>,
): Effect.Effect<Stream.Stream<string, SortFailed>, E | SortFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const part = yield* Effect.acquireRelease(
      Effect.tryPromise({ try: () => openPart(), catch: (cause) => new SortFailed({ cause }) }),
      (opened) => releasing("a temporary file", () => opened.close()),
    )
    // An async iteration throws the failure of its stream; any other error is a failure of the file.
    let failure: { readonly error: E } | undefined
    const source = async function* () {
      try {
        yield* Stream.toAsyncIterable(batches)
      } catch (error) {
        failure = { error: error as E }
        throw error
      }
    }
    yield* Effect.tryPromise({
      try: () => part.write(source()),
      catch: (cause) => (failure === undefined ? new SortFailed({ cause }) : failure.error),
    })
    return Stream.suspend(() => Stream.flattenIterable(Stream.fromAsyncIterable(part.lines(), (cause) => new SortFailed({ cause }))))
  })

// The classes of each node: from its types, from `rdfs:subClassOf` in the graph, and from the ontology. Kept for every node, since a
// shape may check the class of any node that a node points to.

export const subClassPredicate = `<${rdfs.subClassOf}>`

const none: ReadonlyArray<string> = []

const without = (list: ReadonlyArray<string>, removed: string): ReadonlyArray<string> => list.filter((one) => one !== removed)

export class ClassMembership {
  /** Number of changes to the class hierarchy; used to invalidate caches. */
  hierarchy = 0
  readonly #ontology: OntologyIndex
  readonly #types = new Map<string, ReadonlyArray<string>>()
  /** Interned lists: equal lists are stored once. */
  readonly #lists = new Map<string, ReadonlyArray<string>>()
  /** The superclasses that the graph itself states, by IRI. */
  readonly #parents = new Map<string, ReadonlyArray<string>>()
  readonly #above = new Map<string, ReadonlySet<string>>()

  constructor(ontology: OntologyIndex) {
    this.#ontology = ontology
  }

  /** Nodes are N-Triples terms. */
  add({ subject, values }: NodeOfLines): void {
    const types = values.get(typePredicate)
    if (types !== undefined) this.#types.set(detached(subject), this.#shared(types))
    const parents = values.get(subClassPredicate)
    if (parents !== undefined)
      this.#parents.set(
        termOf(subject).value,
        parents.map((one) => termOf(one).value),
      )
  }

  /** Removes a type or subclass statement, given as N-Triples terms; ignores any other. */
  remove({ subject, predicate, object }: LineParts): void {
    if (predicate === typePredicate) this.#setTypes(subject, without(this.typesOf(subject), object))
    if (predicate === subClassPredicate) this.#setParents(subject, (parents) => without(parents, termOf(object).value))
  }

  /** Restores a removed statement. */
  restore({ subject, predicate, object }: LineParts): void {
    if (predicate === typePredicate) this.#setTypes(subject, [...this.typesOf(subject), object])
    if (predicate === subClassPredicate) this.#setParents(subject, (parents) => [...parents, termOf(object).value])
  }

  /** As N-Triples terms. */
  typesOf(node: string): ReadonlyArray<string> {
    return this.#types.get(node) ?? none
  }

  /** The superclasses of a class, by IRI. Contains the class itself only if it is part of a cycle. */
  above(type: string): ReadonlySet<string> {
    if (this.#parents.size === 0) return this.#ontology.ancestors(type)
    const known = this.#above.get(type)
    if (known !== undefined) return known
    const reached = new Set<string>()
    const waiting = [type]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const parent of [...this.#ontology.ancestors(next), ...(this.#parents.get(next) ?? none)]) {
        if (reached.has(parent)) continue
        reached.add(parent)
        waiting.push(parent)
      }
    }
    this.#above.set(type, reached)
    return reached
  }

  isOf(node: string, type: string): boolean {
    return this.typesOf(node).some((own) => {
      const { value } = termOf(own)
      return value === type || this.above(value).has(type)
    })
  }

  #setTypes(node: string, types: ReadonlyArray<string>): void {
    if (types.length === 0) this.#types.delete(node)
    else this.#types.set(node, this.#shared(types))
  }

  #setParents(node: string, change: (parents: ReadonlyArray<string>) => ReadonlyArray<string>): void {
    const type = termOf(node).value
    this.#parents.set(type, change(this.#parents.get(type) ?? none))
    this.#above.clear()
    this.hierarchy++
  }

  #shared(types: ReadonlyArray<string>): ReadonlyArray<string> {
    const key = types.join(" ")
    const known = this.#lists.get(key)
    if (known !== undefined) return known
    const list = types.map(detached)
    this.#lists.set(detached(key), list)
    return list
  }
}
