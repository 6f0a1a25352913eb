/**
 * From the text of an ontology file to its index.
 *
 * ```ts
 * const index = yield* loadOntology({ name: "library.ttl", text })
 * index.label("https://example.org/library#Book") // "book"
 * ```
 */
import { createHash } from "node:crypto"
import { fromOutcome, type Outcome, outcomeOf, type WorkerError } from "@detent/durable/ProcessPool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Triple } from "../rdf/Term.ts"
import { WorkerPool } from "../threads/WorkerPool.ts"
import { OntologyEmpty, OntologyError, type OntologyFormat, OntologyLimitExceeded, OntologySyntaxError } from "./Ontology.ts"
import { OntologyIndex, type PackedOntology } from "./OntologyIndex.ts"
import { readOntology } from "./OntologyReading.ts"
import { formatOf, parseRdf } from "./RdfParsing.ts"

export interface OntologySource {
  /** What error messages call it: a path or a URI. Its ending tells the format. */
  readonly name: string
  readonly text: string
  readonly format?: OntologyFormat
  /** What relative IRIs in it are relative to. */
  readonly base?: string
}

export const loadOntology = Effect.fnUntraced(function* (source: OntologySource): Effect.fn.Return<OntologyIndex, OntologyError> {
  const text = source.text.replace(/^\uFEFF/, "")
  const format = source.format ?? formatOf(source.name, text)
  const triples = yield* parseRdf({
    text,
    name: source.name,
    format,
    base: source.base ?? "urn:ontology",
  })
  if (triples.some(isOverlong))
    return yield* new OntologySyntaxError({ source: source.name, format, problem: `an IRI in it is longer than ${longestIri} characters` })
  const ontology = readOntology(triples, createHash("sha256").update(source.text).digest("hex"))
  if (ontology.classes.length === 0 && ontology.properties.length === 0) {
    return yield* new OntologyEmpty({ source: source.name, statements: triples.length })
  }
  return new OntologyIndex(ontology)
})

/** Longer than any address that is meant to be used: IRIs are in every prompt, shape and line that names their terms. */
const longestIri = 4096

const isOverlong = ({ subject, predicate, object }: Triple): boolean =>
  [subject, predicate, object].some(({ termType, value }) => termType === "NamedNode" && value.length > longestIri)

/**
 * Like `loadOntology`, on the pool in the context: a file can be made so that reading it takes any time and memory. Without a pool, the
 * caller's thread loads.
 */
export const loadOnWorker = (source: OntologySource): Effect.Effect<OntologyIndex, OntologyError> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* loadOntology(source)
    const outcome = yield* Effect.mapError(
      // Once is enough: nothing has started that would have to be kept.
      pool.value.run("ontology.load", source, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) => failureOf(source, error),
    )
    // The answer of the pool is the output of the task of that name.
    return yield* OntologyIndex.unpackInTurns(yield* fromOutcome(OntologyError, outcome as Outcome<PackedOntology>))
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

/** What a worker runs under `ontology.load`. */
export const tasks = {
  load: (source: OntologySource) =>
    outcomeOf(
      OntologyError,
      Effect.map(loadOntology(source), (index) => index.pack()),
    ),
}
