/** `npm run eval`: reads the command line, evaluates, and prints. */

import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import * as Effect from "effect/Effect"
import { highPrecisionConfidence } from "../src/extract/builtin/BuiltIn.ts"
import { ruleGroups } from "../src/extract/builtin/Prediction.ts"
import { builtIn, builtInWithout, fromEnvironment } from "./Contestants.ts"
import { loadDocuments, loadSentences } from "./Dataset.ts"
import { ablation, type Contestant, evaluate, learningCurve } from "./Evaluation.ts"
import { ablationTable, curveTable, json, type Result, table } from "./Report.ts"

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
      ablation:
        choice.ablation && contestant === builtIn
          ? ablation([builtIn, ...ruleGroups.map(builtInWithout)], data ?? (corpus === undefined ? [] : [corpus]), settings)
          : Effect.succeed(undefined),
    }),
  )
  return { results, missing: corpus === undefined ? `The corpus is not at ${folder}, so it is left out.` : undefined }
})

const tables = (results: ReadonlyArray<Result>): string =>
  results
    .flatMap(({ extractor, corpus, data, curve, ablation: effects }) => [
      ...(corpus === undefined ? [] : [table(`${extractor}, shipped corpus`, corpus)]),
      ...(data === undefined ? [] : [table(`${extractor}, given folder`, data)]),
      ...(curve === undefined
        ? []
        : [curveTable(`${extractor}, ${data === undefined ? "shipped corpus" : "given folder"}, by number of examples`, curve)]),
      ...(effects === undefined
        ? []
        : [ablationTable(`${extractor}, ${data === undefined ? "shipped corpus" : "given folder"}, without groups of rules`, effects)]),
    ])
    .join("\n\n")

// The command line of the evaluation.

export interface Choice {
  /** A folder with ontologies to evaluate on besides the shipped corpus. */
  readonly data: string | undefined
  readonly threshold: number | undefined
  readonly json: boolean
  /** Whether to measure the effect of each group of rules. */
  readonly ablation: boolean
}

export type Arguments = Choice | { readonly help: true } | { readonly problem: string }

export const help = `Scores how well extractors find facts.

  npm run eval -- [--data DIR] [--threshold T] [--ablation] [--json]

Always on the shipped corpus; with --data also on a folder that has a subfolder for each ontology, with
  ontology.ttl   the ontology (or .owl, .rdf, .jsonld)
  test.jsonl     lines {"sent": "...", "triples": [{"sub": "...", "rel": "...", "obj": "..."}]}
  train.jsonl    the same, to learn from; each ontology learns from its own only

Options:
  --data DIR      a folder to evaluate on as well
  --threshold T   counts only facts with at least this confidence, from 0 to 1
  --ablation      also leaves out one group of rules of the built-in extractor after the other
  --json          prints one line of JSON instead of tables
  --help          this text

Scores:
  strict          precision, recall and F1 over all facts
  paper           the same text by text, only with relations expected there, then the mean over texts and ontologies
  high precision  strict, of facts with a confidence of at least ${highPrecisionConfidence}
  conformance     how many facts keep to domain and range
  hallucination   how many facts have a subject that is not in the text

The last table shows what the built-in extractor reaches with 0, 5, 20 and 40 examples of each ontology.

The built-in extractor always takes part. A model does too when EVAL_MODEL names one: anthropic/MODEL with
ANTHROPIC_API_KEY, or openai/MODEL with OPENAI_API_KEY; ANTHROPIC_BASE_URL and OPENAI_BASE_URL name another server.`

export const readArguments = (args: ReadonlyArray<string>): Arguments => {
  const parsed = parse(args)
  if ("problem" in parsed) return parsed
  const { data, threshold, json, ablation: isAblated } = parsed.values
  if (parsed.values.help) return { help: true }
  if (data === "") return { problem: "--data needs a folder." }
  const least = threshold === undefined ? undefined : Number(threshold)
  if (least !== undefined && !(threshold?.trim() !== "" && least >= 0 && least <= 1)) {
    return { problem: `--threshold is a number from 0 to 1, not ${JSON.stringify(threshold)}.` }
  }
  return { data, threshold: least, json: json ?? false, ablation: isAblated ?? false }
}

const parse = (args: ReadonlyArray<string>) => {
  try {
    return parseArgs({
      args: [...args],
      options: {
        data: { type: "string" },
        threshold: { type: "string" },
        json: { type: "boolean" },
        ablation: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    })
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
