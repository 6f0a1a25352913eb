/** Runs an extractor over data with known facts and scores what it finds. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Chunk } from "../src/document/Chunk.ts"
import { chunkText } from "../src/document/Sentences.ts"
import type { Example } from "../src/extract/builtin/Example.ts"
import { type ExtractionFailed, Extractor } from "../src/extract/Extractor.ts"
import { documentLanguage } from "../src/extract/language/DocumentLanguage.ts"
import type { OntologyIndex } from "../src/ontology/OntologyIndex.ts"
import type { Dataset } from "./Dataset.ts"
import { notationOf } from "./Notation.ts"
import { atLeast, combined, type Scored, type Scores, scoresOf, triplesOf } from "./Score.ts"

/** An extractor to evaluate. It may learn from the examples of one ontology before it is asked about its texts. */
export interface Contestant<E = never> {
  readonly name: string
  readonly layer: (ontology: OntologyIndex, examples: ReadonlyArray<Example>) => Layer.Layer<Extractor, E>
  /** How many texts are asked about at once. */
  readonly concurrency: number
  /** Whether it learns from examples, so that scores with fewer of them say something. */
  readonly learns?: boolean
}

export interface EvaluationOptions {
  /** Facts below this confidence do not count; without it, all that the extractor gives. */
  readonly threshold?: number
  /** The confidence of the high-precision setting. */
  readonly highPrecision: number
  /** How many of each ontology's examples may be learnt from. Default: all. */
  readonly examples?: number
}

/** What an extractor reaches with a number of examples. */
export interface CurvePoint {
  readonly examples: number
  readonly scores: Scores
}

/** The numbers of examples that a curve is measured with. */
export const curveExamples: ReadonlyArray<number> = [0, 5, 20, 40]

/** The scores with few examples and with more of them. */
export const learningCurve = <E>(
  contestant: Contestant<E>,
  datasets: ReadonlyArray<Dataset>,
  options: EvaluationOptions,
): Effect.Effect<ReadonlyArray<CurvePoint>, E | ExtractionFailed> =>
  Effect.forEach(curveExamples, (examples) =>
    Effect.map(evaluate(contestant, datasets, { ...options, examples }), ({ all }) => ({ examples, scores: all })),
  )

/** This number of all, spread evenly: examples of one kind often follow each other. */
const spread = <A>(all: ReadonlyArray<A>, count: number): ReadonlyArray<A> =>
  count >= all.length ? all : Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]!)

/** What a contestant reaches without any example and with all of them. */
export interface Ablated {
  readonly name: string
  readonly untaught: Scores
  readonly taught: Scores
}

/** The scores of contestants that leave something out, beside those of the first, which leaves nothing out. */
export const ablation = <E>(
  contestants: ReadonlyArray<Contestant<E>>,
  datasets: ReadonlyArray<Dataset>,
  options: EvaluationOptions,
): Effect.Effect<ReadonlyArray<Ablated>, E | ExtractionFailed> =>
  Effect.forEach(contestants, (contestant) =>
    Effect.gen(function* () {
      const untaught = yield* evaluate(contestant, datasets, { ...options, examples: 0 })
      const taught = yield* evaluate(contestant, datasets, options)
      return { name: contestant.name, untaught: untaught.all, taught: taught.all }
    }),
  )

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

/** In the language of the text, as a run finds it. */
const chunksOf = (text: string, ontology: OntologyIndex): ReadonlyArray<Chunk> => {
  const { language } = documentLanguage(text, undefined, ontology)
  return chunkText(text).map((chunk) => (language === undefined ? chunk : { ...chunk, language }))
}

const scoreDataset = <E>(
  contestant: Contestant<E>,
  { ontology, examples, cases }: Dataset,
  { threshold, examples: count = Number.POSITIVE_INFINITY }: EvaluationOptions,
): Effect.Effect<ReadonlyArray<Scored>, E | ExtractionFailed> => {
  const notation = notationOf(examples)
  const scored = Effect.flatMap(Extractor, (extractor) =>
    Effect.forEach(
      cases,
      ({ text, expected }) =>
        Effect.forEach(chunksOf(text, ontology), (chunk) =>
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
    Effect.provide(contestant.layer(ontology, spread(examples, count))),
  )
}
