/** Loads ontologies on a worker, where the pool in the context has one: a file can be made so that reading it takes any time and memory. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { fromOutcome, type Outcome } from "../threads/Outcome.ts"
import type { TaskName } from "../threads/Tasks.ts"
import type { WorkerError } from "../threads/WorkerError.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import type { Ontology } from "./Ontology.ts"
import { OntologyError, OntologyLimitExceeded, OntologySyntaxError } from "./OntologyError.ts"
import { OntologyIndex } from "./OntologyIndex.ts"
import { loadOntology, type OntologySource } from "./OntologyLoading.ts"
import { formatOf } from "./RdfParsing.ts"

const task: TaskName = "ontology.load"

/** Like `loadOntology`, on the pool in the context. Without one, the caller's thread loads. */
export const loadOnWorker = (source: OntologySource): Effect.Effect<OntologyIndex, OntologyError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* loadOntology(source)
    const outcome = yield* Effect.mapError(
      // Once is enough: nothing has started that would have to be kept.
      pool.value.run(task, source, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) => failureOf(source, error),
    )
    // An answer of the pool is what the task of that name returns.
    return new OntologyIndex(yield* fromOutcome(OntologyError, outcome as Outcome<Ontology>))
  })

const failureOf = (source: OntologySource, error: WorkerError): OntologyError => {
  const { name, text } = source
  return error._tag === "TaskFailed"
    ? new OntologySyntaxError({ source: name, format: source.format ?? formatOf(name, text), problem: error.problem })
    : new OntologyLimitExceeded({
        source: name,
        problem: error._tag === "LimitExceeded" ? error.problem : `its reader ended: ${error.problem}`,
      })
}
