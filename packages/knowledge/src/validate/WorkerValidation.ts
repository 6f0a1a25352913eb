/** Reads shapes and validates on a worker: shapes and data can be made so that holding one against the other takes any time. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { fromOutcome, type Outcome } from "../threads/Outcome.ts"
import type { TaskName } from "../threads/Tasks.ts"
import type { WorkerError } from "../threads/WorkerError.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import type { GraphChange } from "./AffectedNodes.ts"
import { readShapes, ShapesRefused } from "./Shapes.ts"
import {
  ShapesError,
  type ShapesText,
  ValidationError,
  type ValidationInput,
  type ValidationOutput,
  type ValidationTaskInput,
  validation,
} from "./ValidationTask.ts"

const tasks = { shapes: "shapes.check", validation: "graph.validate" } as const satisfies Record<string, TaskName>

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
    const asked: ValidationTaskInput = { ...input, ontology: ontology.toJSON(), parts }
    const outcome = yield* pool.value.run<E>(tasks.validation, asked, undefined, { limit: pool.value.limits.graph, attempts: 1, sources })
    // An answer of the pool is what the task of that name returns.
    return yield* fromOutcome(ValidationError, outcome as Outcome<ValidationOutput>)
  })

/** Fails where shapes cannot be used. */
export const checkShapes = (shapes: ShapesText): Effect.Effect<void, ShapesError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* Effect.asVoid(readShapes(shapes.text, shapes.source))
    const outcome = yield* Effect.mapError(
      pool.value.run(tasks.shapes, shapes, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) =>
        new ShapesRefused({
          source: shapes.source,
          problem: error._tag === "WorkerCrashed" ? `their reader ended: ${error.problem}` : error.problem,
        }),
    )
    return yield* fromOutcome(ShapesError, outcome as Outcome<void>)
  })
