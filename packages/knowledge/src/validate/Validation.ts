/**
 * Holds a graph against its shapes. Where every shape looks at one node only, the graph is validated a few thousand nodes at
 * a time, with the classes of what they point to: memory then does not grow with the graph but for those classes.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { describe } from "../domain/Describe.ts"
import { type NodeOfLines, nodesOfLines } from "../graph/LineNodes.ts"
import { typePredicate } from "../graph/TurtleText.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
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
): Effect.Effect<Found, E | ValidationFailed, R> =>
  Effect.gen(function* () {
    const environment = yield* shaclEnvironment(shapes.triples)
    const entities = Stream.filter(nodesOfLines(lines), (node) => !isStatement(node))
    const types = shapes.local ? yield* typesOf(entities) : new Map<string, ReadonlyArray<string>>()
    const pieces: Stream.Stream<ReadonlyArray<NodeOfLines>, E, R> = shapes.local
      ? Stream.grouped(entities, nodesAtOnce)
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

const checkPiece = (
  { validator, factory }: ShaclEnvironment,
  nodes: ReadonlyArray<NodeOfLines>,
  types: ReadonlyMap<string, ReadonlyArray<string>>,
  ontology: OntologyIndex,
) =>
  Effect.gen(function* () {
    const data = datasetOf(factory, nodes, types, (type) => ontology.ancestors(type))
    const report = yield* Effect.tryPromise({ try: () => validator.validate(data), catch: (cause) => new ValidationFailed({ cause }) })
    // Of nodes from elsewhere only the classes are here: they are judged in their own piece.
    const own = new Set(nodes.map(({ subject }) => subject))
    return report.results.map(violationOf).filter(({ focus }) => own.has(`<${focus}>`) || own.has(`_:${focus}`))
  })

/** The classes of every entity, by its term in the lines. Lists that are alike are shared. */
const typesOf = <E, R>(entities: Stream.Stream<NodeOfLines, E, R>): Effect.Effect<ReadonlyMap<string, ReadonlyArray<string>>, E, R> =>
  Effect.gen(function* () {
    const types = new Map<string, ReadonlyArray<string>>()
    const shared = new Map<string, ReadonlyArray<string>>()
    yield* Stream.runForEach(entities, ({ subject, values }) =>
      Effect.sync(() => {
        const own = values.get(typePredicate)
        if (own === undefined) return
        const key = own.join(" ")
        const list = shared.get(key) ?? own
        shared.set(key, list)
        types.set(subject, list)
      }),
    )
    return types
  })

const shacl = "http://www.w3.org/ns/shacl#"

const violationOf = (result: Result): Omit<Violation, "sources"> => {
  const [property, value] = [result.path?.value, result.value?.value]
  return {
    focus: result.focusNode?.value ?? "",
    ...(property === undefined ? {} : { property }),
    ...(value === undefined ? {} : { value }),
    message: result.message.map(({ value }) => value).join("; ") || nameOf(result.sourceConstraintComponent?.value ?? ""),
    severity: severityOf(result.severity?.value),
    shape: result.sourceShape?.value ?? "",
  }
}

const nameOf = (iri: string) => (iri.startsWith(shacl) ? iri.slice(shacl.length) : iri)

const severityOf = (iri: string | undefined): Severity => {
  if (iri === `${shacl}Warning`) return "Warning"
  return iri === `${shacl}Info` ? "Info" : "Violation"
}
