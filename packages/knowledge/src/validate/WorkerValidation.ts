/** Reads shapes and validates on a worker, whose limits stop shapes and data crafted to make validation run forever. */

import { fromOutcome, itemsOf, type Outcome, outcomeOf, type TaskChannel, type WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { OntologyIndex, type PackedOntology } from "../ontology/OntologyIndex.ts"
import { SortFailed } from "../rdf/LineSort.ts"
import { RdfSyntaxError } from "../rdf/Turtle.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import type { GraphChange } from "./AffectedNodes.ts"
import { type Quarantine, quarantine } from "./Quarantine.ts"
import { derivedShapes, readShapes, ShapesRefused } from "./Shapes.ts"
import { type Found, ValidationFailed, validate } from "./Validation.ts"

/** Like `validation`, on the worker pool in the context. Without a pool, the caller's thread validates. */
export const validateOnWorker = <E>(
  input: ValidationInput,
  change: GraphChange<E>,
  ontology: OntologyIndex,
): Effect.Effect<ValidationOutput, E | ValidationError | WorkerError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* validation(input, change, ontology)
    const { added, existing, replaced } = change
    const sources = { added, ...(existing === undefined ? {} : { existing }), ...(replaced === undefined ? {} : { replaced }) }
    const parts = (["added", "existing", "replaced"] as const).filter((part) => change[part] !== undefined)
    const asked: ValidationTaskInput = { ...input, ontology: ontology.pack(), parts }
    const outcome = yield* pool.value.run<E>("validation.graph", asked, undefined, { limit: pool.value.limits.graph, attempts: 1, sources })
    // The pool returns the output type of the named task.
    return yield* fromOutcome(ValidationError, outcome as Outcome<ValidationOutput>)
  })

/** Fails if the shapes cannot be used. */
export const checkShapes = (shapes: ShapesText): Effect.Effect<void, ShapesError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* Effect.asVoid(readShapes(shapes.text, shapes.source))
    const outcome = yield* Effect.mapError(
      pool.value.run("validation.shapes", shapes, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) =>
        new ShapesRefused({
          source: shapes.source,
          problem: error._tag === "WorkerCrashed" ? `the worker that read them crashed: ${error.problem}` : error.problem,
        }),
    )
    return yield* fromOutcome(ShapesError, outcome as Outcome<void>)
  })

const ShapesError = Schema.Union([RdfSyntaxError, ShapesRefused])
type ShapesError = typeof ShapesError.Type

const ValidationError = Schema.Union([RdfSyntaxError, ShapesRefused, ValidationFailed, SortFailed])
type ValidationError = typeof ValidationError.Type

/** The source text of shapes, and their name in errors. */
export interface ShapesText {
  readonly text: string
  readonly source: string
}

export interface ValidationInput {
  /** Default: shapes derived from the ontology. */
  readonly shapes: ShapesText | undefined
  /** Whether statements are held back until the graph conforms. */
  readonly isQuarantine: boolean
}

/** `held` is sorted, and absent unless `isQuarantine`. */
export type ValidationOutput = Omit<Found, "offenders"> &
  Partial<Pick<Quarantine, "remaining" | "statements">> & {
    readonly held?: { readonly lines: ReadonlyArray<string>; readonly entities: ReadonlyArray<string> }
  }

const validation = <E>(
  { shapes, isQuarantine }: ValidationInput,
  change: GraphChange<E>,
  ontology: OntologyIndex,
): Effect.Effect<ValidationOutput, E | ValidationError> =>
  Effect.gen(function* () {
    const read = yield* readShapes(shapes?.text ?? derivedShapes(ontology), shapes?.source ?? "the ontology", {
      mayBeEmpty: shapes === undefined,
    })
    if (!isQuarantine) {
      const { violations, warnings, listed } = yield* validate(change, read, ontology)
      return { violations, warnings, listed }
    }
    const { violations, warnings, listed, held, remaining, statements } = yield* quarantine(change, read, ontology)
    return { violations, warnings, listed, remaining, statements, held: { lines: held.lines(), entities: held.entities() } }
  })

interface ValidationTaskInput extends ValidationInput {
  readonly ontology: PackedOntology
  /** The parts of the change that are present: each is a source of the task. */
  readonly parts: ReadonlyArray<keyof GraphChange<never>>
}

const validationTask = ({ ontology, parts, ...input }: ValidationTaskInput, channel: TaskChannel) => {
  const part = (name: keyof GraphChange<never>) => (parts.includes(name) ? { [name]: itemsOf<string>(channel, name) } : {})
  const change: GraphChange<never> = { added: itemsOf<string>(channel, "added"), ...part("existing"), ...part("replaced") }
  return outcomeOf(ValidationError, validation(input, change, OntologyIndex.unpack(ontology)))
}

const shapesTask = ({ text, source }: ShapesText) => outcomeOf(ShapesError, Effect.asVoid(readShapes(text, source)))

/** The worker tasks `validation.graph` and `validation.shapes`. */
export const tasks = { graph: validationTask, shapes: shapesTask }
