/** The SHACL library, loaded on first use, with the shapes parsed once for all chunks of a graph. */
import * as Effect from "effect/Effect"
import type { NodeOfLines } from "../graph/StoredLines.ts"
import { termOf, termText, tripleOfParts, typePredicate } from "../rdf/NTriples.ts"
import type { Triple } from "../rdf/Term.ts"
import { type ClassMembership, subClassPredicate } from "./ClassMembership.ts"
import type { Shapes } from "./Shapes.ts"

type Validator = InstanceType<typeof import("rdf-validate-shacl")["default"]>
type Factory = Validator["factory"]
type Dataset = ReturnType<Factory["dataset"]>
type Result = Awaited<ReturnType<Validator["validate"]>>["results"][number]

export interface ShaclLibrary {
  /**
   * Applies every shape to its wanted focus nodes, given nodes of a graph and the classes of the nodes they point to. It yields after
   * each small step, mostly without a finding, so that the caller can pause in between. Throws the exceptions of the library.
   */
  readonly check: (nodes: Iterable<NodeOfLines>, isWanted: (focus: string) => boolean) => Generator<LibraryFinding | undefined>
}

/** A result, with the targeted shape and the focus node of its check, as an N-Triples term. */
export interface LibraryFinding {
  readonly shape: string
  readonly root: string
  readonly result: Result
}

export const shaclLibrary = (shapes: Shapes, classes: ClassMembership): Effect.Effect<ShaclLibrary> =>
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
