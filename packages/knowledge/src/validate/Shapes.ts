/** Shapes as they are read: checked when a batch starts, not when its extraction is over. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type RdfSyntaxError, readTurtle } from "../rdf/RdfReading.ts"
import { rdfType, type Triple } from "../rdf/Term.ts"

const sh = "http://www.w3.org/ns/shacl#"
const rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

export interface Shapes {
  readonly triples: ReadonlyArray<Triple>
  /** Whether every shape looks only at one node, its values and their classes: then a graph can be validated piece by piece. */
  readonly local: boolean
}

export class ShapesRefused extends Schema.TaggedError<ShapesRefused>()("ShapesRefused", {
  source: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `the shapes in ${this.source} cannot be used: ${this.problem}; correct them, or leave them out to have shapes derived from the ontology`
  }
}

export const readShapes = (text: string, source: string): Effect.Effect<Shapes, RdfSyntaxError | ShapesRefused> =>
  Effect.gen(function* () {
    const triples = yield* Stream.runCollect(readTurtle(Stream.succeed(text), source))
    const refuse = (problem: string) => new ShapesRefused({ source, problem })
    if (!triples.some(isTarget)) return yield* refuse("no shape in them names a target, so they would find nothing")
    const sparql = triples.find(({ predicate }) => unsupported.has(predicate.value))
    if (sparql !== undefined) return yield* refuse(`${short(sparql.predicate.value)} is not supported`)
    return { triples, local: isLocal(triples) }
  })

const targets = new Set(["targetClass", "targetNode", "targetSubjectsOf", "targetObjectsOf"].map((name) => sh + name))
const unsupported = new Set(["sparql", "target", "rule", "select", "js"].map((name) => sh + name))

/** A class that is a shape itself is its own target. */
const isTarget = ({ predicate, object }: Triple): boolean =>
  targets.has(predicate.value) || (predicate.value === rdfType && object.value === "http://www.w3.org/2000/01/rdf-schema#Class")

/** Targets and constraints that need more of the graph than one node, its values and their classes. */
const reaching = new Set(["targetObjectsOf", "node", "qualifiedValueShape"].map((name) => sh + name))

const isLocal = (triples: ReadonlyArray<Triple>): boolean => {
  const ofValues = new Set(triples.filter(({ predicate }) => predicate.value === `${sh}path`).map(({ subject }) => subject.value))
  return !triples.some(
    ({ subject, predicate, object }) =>
      reaching.has(predicate.value) ||
      (predicate.value === `${sh}path` && object.termType !== "NamedNode") ||
      // What a property's values have to have themselves, directly or in one of several choices.
      (ofValues.has(subject.value) && nested.has(predicate.value) && !isOfClasses(triples, object)),
  )
}

const nested = new Set(["property", "or", "and", "xone", "not"].map((name) => sh + name))

/** Whether what is below a node of the shapes asks for nothing but classes and datatypes. */
const isOfClasses = (triples: ReadonlyArray<Triple>, node: Triple["object"]): boolean =>
  triples
    .filter(({ subject }) => subject.value === node.value)
    .every(
      ({ predicate, object }) =>
        predicate.value === `${sh}class` ||
        predicate.value === `${sh}datatype` ||
        predicate.value === `${sh}nodeKind` ||
        (predicate.value.startsWith(rdf) && isOfClasses(triples, object)) ||
        (nested.has(predicate.value) && predicate.value !== `${sh}property` && isOfClasses(triples, object)),
    )

const short = (iri: string) => `sh:${iri.slice(sh.length)}`
