/**
 * Holds a graph against its shapes. Where every shape looks at one node only, the graph is validated a few thousand nodes at
 * a time, with the classes of what they point to: memory then does not grow with the graph but for those classes.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type NodeOfLines, nodesOfLines, termOf } from "../graph/LineNodes.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { compareCodePoints } from "../rdf/CodePointOrder.ts"
import { detached } from "../rdf/DetachedText.ts"
import { typePredicate } from "../rdf/TurtleText.ts"
import { describe } from "../storage/Describe.ts"
import { plainConformity, type TypesOf } from "./PlainConformity.ts"
import { datasetOf, type ShaclEnvironment, shaclEnvironment } from "./ShaclLibrary.ts"
import type { Shapes } from "./Shapes.ts"
import { attachSources, isStatement } from "./Sources.ts"
import { listedAtMost, type Severity, type Violation } from "./Violation.ts"

export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("ValidationFailed", { cause: Schema.Defect() }) {
  override get message() {
    return `the validator gave up: ${describe(this.cause)}; check the shapes with another tool, or leave them out`
  }
}

export interface Found {
  readonly violations: number
  /** What shapes of lesser severity found. */
  readonly warnings: number
  /** The first of them, with the words that led to them. */
  readonly listed: ReadonlyArray<Violation>
  /** Every entity with a violation. */
  readonly offenders: ReadonlySet<string>
}

type Result = Awaited<ReturnType<ShaclEnvironment["validator"]["validate"]>>["results"][number]

const nodesAtOnce = 500

/** `lines` is read up to three times: for classes, for the check, and for the words behind what was found. */
export const validate = <E, R>(
  lines: Stream.Stream<string, E, R>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<Found, E | ValidationFailed, R> => validated(lines, shapes, ontology, plainConformity)

/** With the library alone, which gives the same and takes far longer. */
export const validateByLibrary = <E, R>(
  lines: Stream.Stream<string, E, R>,
  shapes: Shapes,
  ontology: OntologyIndex,
): Effect.Effect<Found, E | ValidationFailed, R> => validated(lines, shapes, ontology, () => () => false)

const validated = <E, R>(
  lines: Stream.Stream<string, E, R>,
  shapes: Shapes,
  ontology: OntologyIndex,
  conformity: typeof plainConformity,
): Effect.Effect<Found, E | ValidationFailed, R> =>
  Effect.gen(function* () {
    const environment = yield* shaclEnvironment(shapes.triples)
    const entities = Stream.filter(nodesOfLines(lines), (node) => !isStatement(node))
    const types = shapes.local ? yield* typesOf(entities) : new Map<string, ReadonlyArray<string>>()
    const conforms = conformity(shapes.triples, types, ontology)
    const pieces: Stream.Stream<ReadonlyArray<NodeOfLines>, E, R> = shapes.local
      ? Stream.grouped(
          Stream.filter(entities, (node) => !conforms(node)),
          nodesAtOnce,
        )
      : Stream.fromEffect(Stream.runCollect(entities))
    const listed: Array<Omit<Violation, "sources">> = []
    const offenders = new Set<string>()
    let [violations, warnings] = [0, 0]
    yield* Stream.runForEach(pieces, (nodes) =>
      Effect.map(checkPiece(environment, nodes, types, ontology), (found) => {
        for (const one of found) {
          if (one.severity === "Violation") {
            violations++
            offenders.add(one.focus)
          } else warnings++
          if (listed.length < listedAtMost) listed.push(one)
        }
      }),
    )
    return { violations, warnings, listed: yield* attachSources(lines, listed), offenders }
  })

const checkPiece = ({ validator, factory }: ShaclEnvironment, nodes: ReadonlyArray<NodeOfLines>, types: TypesOf, ontology: OntologyIndex) =>
  Effect.gen(function* () {
    const data = datasetOf(factory, nodes, types, (type) => ontology.ancestors(type))
    const report = yield* Effect.tryPromise({ try: () => validator.validate(data), catch: (cause) => new ValidationFailed({ cause }) })
    // Of nodes from elsewhere only the classes are here: they are judged in their own piece.
    const places = new Map(nodes.map(({ subject }, place) => [termOf(subject).value, place]))
    const placeOf = ({ focus }: { readonly focus: string }) => places.get(focus) ?? places.get(`_:${focus}`)
    // In an order of our own, so that it does not show how the graph was cut into pieces.
    return report.results
      .map(violationOf)
      .filter((one) => placeOf(one) !== undefined)
      .sort((one, other) => (placeOf(one) ?? 0) - (placeOf(other) ?? 0) || compareCodePoints(keyOf(one), keyOf(other)))
  })

/** The classes of every entity, by its term in the lines. Lists that are alike are shared. */
const typesOf = <E, R>(entities: Stream.Stream<NodeOfLines, E, R>): Effect.Effect<TypesOf, E, R> =>
  Effect.gen(function* () {
    const types = new Map<string, ReadonlyArray<string>>()
    const shared = new Map<string, ReadonlyArray<string>>()
    yield* Stream.runForEach(entities, ({ subject, values }) =>
      Effect.sync(() => {
        const own = values.get(typePredicate)
        if (own === undefined) return
        const key = own.join(" ")
        const list = shared.get(key) ?? own.map(detached)
        if (!shared.has(key)) shared.set(detached(key), list)
        types.set(detached(subject), list)
      }),
    )
    return types
  })

const shacl = "http://www.w3.org/ns/shacl#"

const violationOf = (result: Result): Omit<Violation, "sources"> => {
  const [property, value] = [result.path?.value, result.value]
  return {
    focus: result.focusNode?.value ?? "",
    ...(property === undefined ? {} : { property }),
    ...(value === undefined || value === null ? {} : { value: value.value }),
    ...(value?.termType === "Literal" ? { datatype: value.datatype.value } : {}),
    message: result.message.map(({ value }) => value).join("; ") || nameOf(result.sourceConstraintComponent?.value ?? ""),
    severity: severityOf(result.severity?.value),
    shape: result.sourceShape?.value ?? "",
  }
}

const keyOf = ({ property, shape, value, datatype, message }: Omit<Violation, "sources">) =>
  JSON.stringify([property, shape, value, datatype, message])

const nameOf = (iri: string) => (iri.startsWith(shacl) ? iri.slice(shacl.length) : iri)

const severityOf = (iri: string | undefined): Severity => {
  if (iri === `${shacl}Warning`) return "Warning"
  return iri === `${shacl}Info` ? "Info" : "Violation"
}
