/** The side of the worker that loads ontologies. */
import * as Effect from "effect/Effect"
import { outcomeOf } from "../threads/Outcome.ts"
import { OntologyError } from "./OntologyError.ts"
import { loadOntology, type OntologySource } from "./OntologyLoading.ts"

export const loadingTask = (source: OntologySource) =>
  outcomeOf(
    OntologyError,
    Effect.map(loadOntology(source), (index) => index.toJSON()),
  )
