/** The SHACL library, loaded when something is first validated, with the shapes parsed once for all pieces of a graph. */
import * as Effect from "effect/Effect"
import type { NodeOfLines } from "../graph/LineNodes.ts"
import { termOf } from "../graph/LineNodes.ts"
import type { Triple } from "../rdf/Term.ts"
import { typePredicate } from "../rdf/TurtleText.ts"

type Validator = InstanceType<typeof import("rdf-validate-shacl")["default"]>
type Factory = Validator["factory"]
type Dataset = ReturnType<Factory["dataset"]>

export interface ShaclEnvironment {
  readonly validator: Validator
  readonly factory: Factory
}

export const shaclEnvironment = (shapes: ReadonlyArray<Triple>): Effect.Effect<ShaclEnvironment> =>
  Effect.map(
    Effect.promise(() => import("rdf-validate-shacl")),
    ({ default: Validator }) => {
      // Without shapes it is only asked for the terms it works with.
      const { factory } = new Validator([] as never)
      return { factory, validator: new Validator(factory.dataset(shapes.map((triple) => quadOf(factory, triple)))) }
    },
  )

const quadOf = (factory: Factory, { subject, predicate, object }: Triple) => {
  const node = (term: Triple["subject"]) => (term.termType === "NamedNode" ? factory.namedNode(term.value) : factory.blankNode(term.value))
  const value =
    object.termType === "Literal"
      ? factory.literal(object.value, object.language === "" ? factory.namedNode(object.datatype.value) : object.language)
      : node(object)
  return factory.quad(node(subject), factory.namedNode(predicate.value), value)
}

const subClassOf = "http://www.w3.org/2000/01/rdf-schema#subClassOf"

/** Some nodes of a graph as the library wants them, with the classes of what they point to and the classes above those. */
export const datasetOf = (
  factory: Factory,
  nodes: ReadonlyArray<NodeOfLines>,
  types: ReadonlyMap<string, ReadonlyArray<string>>,
  above: (type: string) => Iterable<string>,
): Dataset => {
  const dataset = factory.dataset()
  const classes = new Set<string>()
  const own = new Set(nodes.map(({ subject }) => subject))
  const add = (subject: string, predicate: string, object: string) => {
    if (predicate === typePredicate) classes.add(object)
    dataset.add(factory.quad(nodeTerm(factory, subject), factory.namedNode(termOf(predicate).value), objectTerm(factory, object)))
  }
  for (const { subject, values } of nodes) {
    for (const [predicate, objects] of values) {
      for (const object of objects) {
        add(subject, predicate, object)
        if (!own.has(object)) for (const type of types.get(object) ?? []) add(object, typePredicate, type)
      }
    }
  }
  for (const type of classes) {
    const child = factory.namedNode(termOf(type).value)
    for (const parent of above(child.value)) dataset.add(factory.quad(child, factory.namedNode(subClassOf), factory.namedNode(parent)))
  }
  return dataset
}

const nodeTerm = (factory: Factory, term: string) =>
  term.startsWith("_:") ? factory.blankNode(term.slice(2)) : factory.namedNode(termOf(term).value)

const objectTerm = (factory: Factory, object: string) => {
  const term = termOf(object)
  if (term._tag === "Node") return nodeTerm(factory, object)
  const kind = term.language ?? (term.datatype === undefined ? undefined : factory.namedNode(term.datatype))
  return factory.literal(term.value, kind)
}
