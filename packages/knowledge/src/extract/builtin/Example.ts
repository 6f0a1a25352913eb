/**
 * Training examples of the built-in extractor: texts with the facts they state, written by hand or taken from elsewhere. An examples file
 * has one example per line. A hostile file can take any amount of time and memory to read, so a worker reads it.
 */

import { fromOutcome, type Outcome, outcomeOf } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { OntologyLimitExceeded } from "../../ontology/Ontology.ts"
import { WorkerPool } from "../../threads/WorkerPool.ts"

export const ExampleTriple = Schema.Struct({
  sub: Schema.String,
  /** The label or the IRI of a property. */
  rel: Schema.String,
  obj: Schema.String,
})
export type ExampleTriple = typeof ExampleTriple.Type

/** One line of an examples file. */
export const Example = Schema.Struct({
  id: Schema.optionalKey(Schema.String),
  sent: Schema.String,
  triples: Schema.Array(ExampleTriple),
})
export type Example = typeof Example.Type

/** A line of an examples file cannot be read. */
export class ExamplesRefused extends Schema.TaggedError<ExamplesRefused>()("ExamplesRefused", {
  uri: Schema.String,
  /** Counted from 1. */
  line: Schema.Int,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.uri}, line ${this.line} is not an example: ${this.problem}; each line is {"sent": "...", "triples": [{"sub": "...", "rel": "...", "obj": "..."}]}`
  }
}

/** The text of an examples file, and its name in errors. */
export interface ExamplesText {
  readonly uri: string
  readonly text: string
}

const decodeExample = Schema.decodeUnknownResult(Schema.fromJsonString(Example))

export const readExamples = ({ uri, text }: ExamplesText): Result.Result<ReadonlyArray<Example>, ExamplesRefused> => {
  const examples: Array<Example> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const decoded = decodeExample(line)
    if (Result.isFailure(decoded)) return Result.fail(new ExamplesRefused({ uri, line: index + 1, problem: decoded.failure.message }))
    examples.push(decoded.success)
  }
  return Result.succeed(examples)
}

/** The relations of the examples, each once. */
const relationsOf = (source: ExamplesText): Result.Result<ReadonlyArray<string>, ExamplesRefused> =>
  Result.map(readExamples(source), (examples) => [...new Set(examples.flatMap(({ triples }) => triples.map(({ rel }) => rel)))])

/** Runs in a worker. */
export const examplesTask = (source: ExamplesText) => outcomeOf(ExamplesRefused, Effect.fromResult(relationsOf(source)))

/**
 * Returns the relations that the examples name. Fails if a line of the file is not an example. Reads the file on the pool of the context;
 * without a pool, in the caller's thread.
 */
export const checkExamples = (source: ExamplesText): Effect.Effect<ReadonlyArray<string>, ExamplesRefused | OntologyLimitExceeded> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    if (Option.isNone(pool)) return yield* Effect.fromResult(relationsOf(source))
    const outcome = yield* Effect.mapError(
      pool.value.run("built-in.examples", source, undefined, { limit: pool.value.limits.ontology, attempts: 1 }),
      (error) =>
        new OntologyLimitExceeded({
          source: source.uri,
          problem: error._tag === "LimitExceeded" ? error.problem : `the worker that read it ended: ${error.problem}`,
        }),
    )
    // The pool returns the result of the task with that name.
    return yield* fromOutcome(ExamplesRefused, outcome as Outcome<ReadonlyArray<string>>)
  })
