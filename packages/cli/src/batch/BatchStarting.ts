/** Starts a batch from a manifest or a folder: through the server of the workspace, or in this process where no server runs. */
import { readFile } from "node:fs/promises"
import {
  BaseUrl,
  type BatchConfig,
  BatchId,
  BudgetText,
  ExtractorName,
  modelForms,
  PriceText,
  priceFrom,
  ReasoningEffort,
} from "@detent/knowledge"
import { describe } from "@detent/machine/internal"
import * as batches from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"
import { checkKey, headersOf } from "../workspace/Changing.ts"
import type { RunningServer } from "../workspace/Server.ts"
import { type SourceInput, sourceOf } from "./BatchSource.ts"

/** The options that choose an extractor. */
export interface ModelInput {
  readonly extractor?: string | undefined
  readonly "base-url"?: string | undefined
  readonly budget?: string | undefined
  readonly price?: string | undefined
  readonly effort?: string | undefined
  readonly rpm?: number | undefined
  readonly instructions?: string | undefined
  readonly glossary?: string | undefined
}

export const selectionOf = (input: ModelInput) =>
  Effect.all({
    ...(input.extractor === undefined
      ? {}
      : { extractor: checked("extractor", ExtractorName, input.extractor, `name built-in, ${modelForms}`) }),
    ...(input["base-url"] === undefined
      ? {}
      : { baseUrl: checked("base-url", BaseUrl, input["base-url"], "give an address like http://localhost:11434/v1") }),
    ...(input.budget === undefined
      ? {}
      : { budget: checked("budget", BudgetText, input.budget, "give an amount with its unit, like 5usd or 200000tokens") }),
    ...(input.price === undefined
      ? {}
      : {
          price: Effect.map(
            checked("price", PriceText, input.price, "give the prices of a million tokens, read and written, like 0.25/2"),
            priceFrom,
          ),
        }),
    ...(input.effort === undefined
      ? {}
      : { effort: checked("effort", ReasoningEffort, input.effort, `give one of ${ReasoningEffort.literals.join(", ")}`) }),
    ...(input.rpm === undefined ? {} : { requestsPerMinute: Effect.succeed(input.rpm) }),
    ...(input.instructions === undefined ? {} : { instructions: fileAt("instructions", input.instructions) }),
    ...(input.glossary === undefined
      ? {}
      : { glossary: Effect.flatMap(fileAt("glossary", input.glossary), (text) => glossaryIn(input.glossary ?? "", text)) }),
  })

const fileAt = (option: string, path: string): Effect.Effect<string, WrongUsage> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (cause) => new WrongUsage({ problem: `--${option} ${path} cannot be read: ${describe(cause)}`, nextStep: "name a text file" }),
  })

/** A glossary has a word and its meaning on each line: `TEU: twenty-foot equivalent unit`. */
const glossaryIn = (path: string, text: string): Effect.Effect<Readonly<Record<string, string>>, WrongUsage> => {
  const entries: Array<readonly [string, string]> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const colon = line.indexOf(":")
    const [word, meaning] = [line.slice(0, Math.max(colon, 0)).trim(), line.slice(colon + 1).trim()]
    if (word === "" || meaning === "")
      return Effect.fail(
        new WrongUsage({
          problem: `--glossary ${path}, line ${index + 1} is no word with its meaning`,
          nextStep: "write WORD: MEANING on each line",
        }),
      )
    entries.push([word, meaning])
  }
  return Effect.succeed(Object.fromEntries(entries))
}

const checked = <A>(option: string, schema: Schema.Codec<A, unknown>, text: string, nextStep: string): Effect.Effect<A, WrongUsage> =>
  Effect.mapError(
    Schema.decodeUnknownEffect(schema)(text),
    // A base URL may contain a password, so the message does not repeat it.
    () =>
      new WrongUsage({
        problem: option === "base-url" ? "--base-url is not an address that can be used" : `--${option} ${text} cannot be used`,
        nextStep,
      }),
  )

/** Refuses --base-url: a server sends its API key only to the addresses that it was started with. */
export const noBaseUrl = (input: ModelInput): Effect.Effect<void, WrongUsage> =>
  input["base-url"] === undefined
    ? Effect.void
    : Effect.fail(
        new WrongUsage({
          problem: "the server of this workspace does not accept --base-url",
          nextStep: "set OPENAI_BASE_URL or knowledge.baseUrl where the server starts, or stop the server",
        }),
      )

const Accepted = Schema.Struct({ batchId: BatchId })

export const startBatch = (server: RunningServer | undefined, input: SourceInput, config: Partial<BatchConfig>, key?: string) =>
  Effect.gen(function* () {
    yield* checkKey(key)
    const { folder, manifest } = yield* sourceOf(input)
    if (server === undefined) return (yield* batches.start({ folder, manifest, config }, key)).batchId
    const answer = yield* server.post("/api/v1/batch", { json: { folder, manifest, config } }, headersOf(key))
    return (yield* Schema.decodeUnknownEffect(Accepted)(answer)).batchId
  })
