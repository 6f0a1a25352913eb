/** `npm run eval`: reads the command line, evaluates, and prints. */

import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { highPrecisionConfidence } from "../src/extract/builtin/BuiltIn.ts"
import { type Choice, help, readArguments } from "./Arguments.ts"
import { builtIn, fromEnvironment } from "./Contestants.ts"
import { loadDocuments, loadSentences } from "./Dataset.ts"
import { type Contestant, evaluate, learningCurve } from "./Evaluation.ts"
import { curveTable, json, type Result, table } from "./Report.ts"

export interface Printed {
  readonly out: string
  /** What belongs to the error stream. */
  readonly problem: string | undefined
  readonly exitCode: number
}

export interface CommandOptions {
  /** Where the shipped corpus is, for tests. */
  readonly corpus?: string
  readonly contestants?: ReadonlyArray<Contestant>
}

/** The corpus lies beside the sources and beside what is built of them. */
const shippedCorpus = (): string => fileURLToPath(new URL("../corpus", import.meta.url))

export const runEvaluation = (args: ReadonlyArray<string>, options: CommandOptions = {}): Effect.Effect<Printed> => {
  const choice = readArguments(args)
  if ("help" in choice) return Effect.succeed({ out: help, problem: undefined, exitCode: 0 })
  if ("problem" in choice) {
    return Effect.succeed({ out: "", problem: `${choice.problem}\nnpm run eval -- --help tells more.`, exitCode: 2 })
  }
  return evaluated(choice, options).pipe(
    Effect.map(({ results, missing }) => ({
      out: choice.json ? json(results) : tables(results),
      problem: missing,
      exitCode: 0,
    })),
    Effect.catch((error) => Effect.succeed({ out: "", problem: error.message, exitCode: 1 })),
  )
}

const evaluated = Effect.fnUntraced(function* (choice: Choice, options: CommandOptions) {
  const folder = options.corpus ?? shippedCorpus()
  const corpus = existsSync(folder) ? yield* loadDocuments(folder, "corpus") : undefined
  const data = choice.data === undefined ? undefined : yield* loadSentences(choice.data)
  const contestants = options.contestants ?? [builtIn, ...(yield* fromEnvironment)]
  const settings = { highPrecision: highPrecisionConfidence, ...(choice.threshold === undefined ? {} : { threshold: choice.threshold }) }
  const results = yield* Effect.forEach(contestants, (contestant) =>
    Effect.all({
      extractor: Effect.succeed(contestant.name),
      corpus: corpus === undefined ? Effect.succeed(undefined) : evaluate(contestant, [corpus], settings),
      data: data === undefined ? Effect.succeed(undefined) : evaluate(contestant, data, settings),
      curve:
        contestant.learns === true && (data ?? corpus) !== undefined
          ? learningCurve(contestant, data ?? (corpus === undefined ? [] : [corpus]), settings)
          : Effect.succeed(undefined),
    }),
  )
  return { results, missing: corpus === undefined ? `The corpus is not at ${folder}, so it is left out.` : undefined }
})

const tables = (results: ReadonlyArray<Result>): string =>
  results
    .flatMap(({ extractor, corpus, data, curve }) => [
      ...(corpus === undefined ? [] : [table(`${extractor}, shipped corpus`, corpus)]),
      ...(data === undefined ? [] : [table(`${extractor}, given folder`, data)]),
      ...(curve === undefined
        ? []
        : [curveTable(`${extractor}, ${data === undefined ? "shipped corpus" : "given folder"}, by number of examples`, curve)]),
    ])
    .join("\n\n")
