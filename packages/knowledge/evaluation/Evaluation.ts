/** Runs an extractor over data with known facts and scores what it finds. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { chunkText } from "../src/document/Chunking.ts"
import type { Example } from "../src/extract/builtin/Example.ts"
import type { ExtractionFailed } from "../src/extract/ExtractionFailed.ts"
import { Extractor } from "../src/extract/Extractor.ts"
import type { OntologyIndex } from "../src/ontology/OntologyIndex.ts"
import type { Dataset } from "./Dataset.ts"
import { notationOf } from "./Notation.ts"
import { atLeast, combined, type Scored, type Scores, scoresOf } from "./Score.ts"
import { triplesOf } from "./Triple.ts"

/** An extractor to evaluate. It may learn from the examples of one ontology before it is asked about its texts. */
export interface Contestant<E = never> {
  readonly name: string
  readonly layer: (ontology: OntologyIndex, examples: ReadonlyArray<Example>) => Layer.Layer<Extractor, E>
  /** How many texts are asked about at once. */
  readonly concurrency: number
}

export interface EvaluationOptions {
  /** Facts below this confidence do not count; without it, all that the extractor gives. */
  readonly threshold?: number
  /** The confidence of the high-precision setting. */
  readonly highPrecision: number
}

export interface Evaluated {
  readonly all: Scores
  readonly each: ReadonlyArray<{ readonly name: string; readonly scores: Scores }>
}

export const evaluate = <E>(
  contestant: Contestant<E>,
  datasets: ReadonlyArray<Dataset>,
  options: EvaluationOptions,
): Effect.Effect<Evaluated, E | ExtractionFailed> =>
  Effect.map(
    Effect.forEach(datasets, (dataset) => scoreDataset(contestant, dataset, options)),
    (groups) => ({
      all: combined(groups, options.highPrecision),
      each: groups.map((scored, at) => ({ name: datasets[at]?.name ?? "", scores: scoresOf(scored, options.highPrecision) })),
    }),
  )

const scoreDataset = <E>(
  contestant: Contestant<E>,
  { ontology, examples, cases }: Dataset,
  { threshold }: EvaluationOptions,
): Effect.Effect<ReadonlyArray<Scored>, E | ExtractionFailed> => {
  const notation = notationOf(examples)
  const scored = Effect.flatMap(Extractor, (extractor) =>
    Effect.forEach(
      cases,
      ({ text, expected }) =>
        Effect.forEach(chunkText(text), (chunk) =>
          extractor.entities(chunk, ontology).pipe(
            Effect.flatMap(({ mentions }) => extractor.facts(chunk, mentions, ontology)),
            Effect.map(({ facts }) => facts),
          ),
        ).pipe(Effect.map((facts) => ({ text, expected, found: triplesOf(facts.flat(), ontology, notation) }))),
      { concurrency: contestant.concurrency },
    ),
  )
  return scored.pipe(
    Effect.map((all) => (threshold === undefined ? all : atLeast(all, threshold))),
    Effect.provide(contestant.layer(ontology, examples)),
  )
}
