/** Starts a batch from a manifest or a folder: through the server of the workspace, or in this process where no server runs. */
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
  })

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
