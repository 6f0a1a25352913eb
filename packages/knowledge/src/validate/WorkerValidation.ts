/** Reads shapes and validates on a worker: shapes and data can be made so that holding one against the other takes any time. */

import { fromOutcome, itemsOf, type Outcome, outcomeOf, type TaskChannel, type WorkerError } from "@detent/durable/ProcessPool"
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

/** Like `validation`, on the pool in the context. Without one, the caller's thread validates. */
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
    // The answer of the pool is the output of the task of that name.
    return yield* fromOutcome(ValidationError, outcome as Outcome<ValidationOutput>)
  })

/** Fails where shapes cannot be used. */
export const checkShapes = (shapes: ShapesText): Effect.Effect<void, ShapesError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* Effect.asVoid(readShapes(shapes.text, shapes.source))
    const outcome = yield* Effect.mapError(
      pool.value.run("validation.shapes", shapes, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) =>
        new ShapesRefused({
          source: shapes.source,
          problem: error._tag === "WorkerCrashed" ? `their reader ended: ${error.problem}` : error.problem,
        }),
    )
    return yield* fromOutcome(ShapesError, outcome as Outcome<void>)
  })

const ShapesError = Schema.Union([RdfSyntaxError, ShapesRefused])
type ShapesError = typeof ShapesError.Type

const ValidationError = Schema.Union([RdfSyntaxError, ShapesRefused, ValidationFailed, SortFailed])
type ValidationError = typeof ValidationError.Type

/** Shapes as they are written, and their name in errors. */
export interface ShapesText {
  readonly text: string
  readonly source: string
}

export interface ValidationInput {
  /** Absent: the shapes that the ontology implies. */
  readonly shapes: ShapesText | undefined
  /** Whether statements are held back until the graph conforms. */
  readonly isQuarantine: boolean
}

/** `held` is in order, and absent where nothing is to be held back. */
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
    const read = yield* readShapes(shapes?.text ?? derivedShapes(ontology), shapes?.source ?? "the ontology")
    if (!isQuarantine) {
      const { violations, warnings, listed } = yield* validate(change, read, ontology)
      return { violations, warnings, listed }
    }
    const { violations, warnings, listed, held, remaining, statements } = yield* quarantine(change, read, ontology)
    return { violations, warnings, listed, remaining, statements, held: { lines: held.lines(), entities: held.entities() } }
  })

interface ValidationTaskInput extends ValidationInput {
  readonly ontology: PackedOntology
  /** Which parts of the change there are: each is a source. */
  readonly parts: ReadonlyArray<keyof GraphChange<never>>
}

const validationTask = ({ ontology, parts, ...input }: ValidationTaskInput, channel: TaskChannel) => {
  const part = (name: keyof GraphChange<never>) => (parts.includes(name) ? { [name]: itemsOf<string>(channel, name) } : {})
  const change: GraphChange<never> = { added: itemsOf<string>(channel, "added"), ...part("existing"), ...part("replaced") }
  return outcomeOf(ValidationError, validation(input, change, OntologyIndex.unpack(ontology)))
}

const shapesTask = ({ text, source }: ShapesText) => outcomeOf(ShapesError, Effect.asVoid(readShapes(text, source)))

/** The tasks of a worker: `validation.graph` and `validation.shapes`. */
export const tasks = { graph: validationTask, shapes: shapesTask }
