/**
 * How documents become facts: the `knowledge` section of `detent.config.ts`, the options of `detent batch run` and the fields of a
 * batch's configuration. Every setting has a default. API keys of providers are not settings: they come from the environment.
 *
 * ```ts
 * export default defineConfig({
 *   knowledge: { extractor: "openai:gpt-5-mini", budget: "5usd", limits: { requestsPerMinute: 500 } },
 * })
 * ```
 */

import type { LanguageModel } from "effect/ai/LanguageModel"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type BudgetLimits, PriceTable } from "./extract/model/Cost.ts"
import { type Provider, ReasoningEffort } from "./extract/model/provider/Provider.ts"
import { TaskSettings } from "./tasks/Task.ts"
import { ContentLimitOptions } from "./threads/WorkerPool.ts"

/**
 * An extractor by name: the one of this package, a model of a provider, or the language model that the configuration gives as a
 * layer. The form in which a batch stores its extractor. The registry of providers, and the configuration, say which there are.
 */
export const ExtractorName = Schema.Union([
  Schema.Literals(["built-in", "language-model"]),
  Schema.TemplateLiteral([Schema.NonEmptyString, ":", Schema.NonEmptyString]),
])
export type ExtractorName = typeof ExtractorName.Type

const isLanguageModelLayer = (value: unknown): value is Layer.Layer<LanguageModel, unknown> => Layer.isLayer(value)

/** An extractor by name, or any language model of Effect as a layer. */
export const ExtractorChoice = Schema.Union([ExtractorName, Schema.declare(isLanguageModelLayer, { expected: "a layer of LanguageModel" })])
export type ExtractorChoice = typeof ExtractorChoice.Type

/** The address of a server that speaks the protocol of the model's provider. It must not contain a key or a password. */
export const BaseUrl = Schema.String.check(
  Schema.makeFilter(
    (text) => {
      if (!URL.canParse(text)) return false
      const { protocol, username, password, search } = new URL(text)
      return (protocol === "http:" || protocol === "https:") && username === "" && password === "" && search === ""
    },
    { expected: "an address like https://gateway.example/v1, without user, password and query" },
  ),
)

/** The beginning of the IRIs of a graph, which ends where a name can follow. */
export const IriBase = Schema.String.check(
  Schema.makeFilter((text) => /^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>"{}|\\^`]*[/#:]$/.test(text), {
    expected: "an IRI that ends with /, # or :, like https://data.example.org/id/",
  }),
)

const budgetPattern = /^(\d{1,12}(?:\.\d{1,6})?) ?([a-z]{3}|tokens)$/i

/** `5usd` or `200000tokens`. */
export const BudgetText = Schema.String.check(
  Schema.makeFilter((text) => budgetPattern.test(text), { expected: "an amount with its unit, like 5usd or 200000tokens" }),
)

const Amount = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const Positive = Schema.Int.check(Schema.isGreaterThan(0))

/** `cost` is in the currency of the price table. */
export const BudgetSetting = Schema.Union([
  BudgetText,
  Schema.Struct({ cost: Schema.optionalKey(Amount), tokens: Schema.optionalKey(Amount) }),
])
export type BudgetSetting = typeof BudgetSetting.Type

/** The limits of a budget. The currency is known when the text names it. */
export const budgetOf = (setting: BudgetSetting): BudgetLimits & { readonly currency?: string } => {
  if (typeof setting !== "string") return setting
  const [, amount, unit] = budgetPattern.exec(setting) ?? []
  if (unit === undefined) return {}
  return unit.toLowerCase() === "tokens" ? { tokens: Number(amount) } : { cost: Number(amount), currency: unit.toUpperCase() }
}

/** The prices of a million tokens of the batch's model. */
export const BatchPrice = Schema.Struct({ input: Amount, output: Amount })
export type BatchPrice = typeof BatchPrice.Type

const pricePattern = /^(\d{1,9}(?:\.\d{1,6})?)\/(\d{1,9}(?:\.\d{1,6})?)$/

/** `0.25/2`: the prices of a million tokens that a model reads, and that it writes. */
export const PriceText = Schema.String.check(
  Schema.makeFilter((text) => pricePattern.test(text), { expected: "two prices of a million tokens, read and written, like 0.25/2" }),
)

export const priceFrom = (text: typeof PriceText.Type): BatchPrice => {
  const [, input, output] = pricePattern.exec(text) ?? []
  return { input: Number(input), output: Number(output) }
}

/** The extractor of a batch, as it is stored with the batch. Omitted settings are those of the process that works on the batch. */
export const ExtractorSelection = Schema.Struct({
  extractor: Schema.optionalKey(ExtractorName),
  /** Default: OPENAI_BASE_URL for OpenAI, then the provider's own address. */
  baseUrl: Schema.optionalKey(BaseUrl),
  /** A batch stops before it spends more on a model. Default: no limit. */
  budget: Schema.optionalKey(BudgetSetting),
  /** In the currency of the price table. Default: the price that the table has for the model. */
  price: Schema.optionalKey(BatchPrice),
  /** How much a reasoning model thinks before it answers. Default: the model's own. */
  effort: Schema.optionalKey(ReasoningEffort),
  /** What a model should know beside the ontology: conventions of the documents, what to leave out. */
  instructions: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(10_000))),
  /** Words of the documents, and what they mean, for a model. */
  glossary: Schema.optionalKey(Schema.Record(Schema.String, Schema.String).check(Schema.isMaxProperties(500))),
  /** In place of `limits.requestsPerMinute`. Calls of other batches to the same model count, too. */
  requestsPerMinute: Schema.optionalKey(Positive),
})
export type ExtractorSelection = typeof ExtractorSelection.Type

/** Limits of the calls to a model, for each model of each address. */
export const ModelLimits = Schema.Struct({
  requestsPerMinute: Schema.optionalKey(Positive),
  tokensPerMinute: Schema.optionalKey(Positive),
  /** Concurrent calls. */
  concurrency: Schema.optionalKey(Positive),
  /**
   * How long a model may be silent before it ends its answer, in milliseconds. Default: two minutes. An answer that arrives in parts may
   * take fifteen times as long.
   */
  timeoutMillis: Schema.optionalKey(Positive),
  /** The most attempts at a call. Default: 5. */
  attempts: Schema.optionalKey(Positive),
  /** The most tokens of one answer. Default: 8192. */
  maxOutputTokens: Schema.optionalKey(Positive),
})
export type ModelLimits = typeof ModelLimits.Type

const isProvider = (value: unknown): value is Provider =>
  typeof value === "object" && value !== null && "make" in value && "keyName" in value && "needsKey" in value

/** The default extractor selection of every batch, with prices and limits. */
export const KnowledgeSettings = Schema.Struct({
  ...ExtractorSelection.fields,
  /** Default: `built-in`, which works offline and costs nothing. */
  extractor: Schema.optionalKey(ExtractorChoice),
  /** Further providers of models, by the prefix of their models: `{ house: provider }` for the extractor `house:MODEL`. */
  providers: Schema.optionalKey(Schema.Record(Schema.String, Schema.declare(isProvider, { expected: "a provider of models" }))),
  /** Prices of models, for costs and budgets. They take precedence over the built-in price table. */
  prices: Schema.optionalKey(PriceTable),
  /** Default: 50 requests a minute, 5 concurrent ones. */
  limits: Schema.optionalKey(ModelLimits),
  /** How much time and memory the work on one document, ontology, batch or query may take. */
  contentLimits: Schema.optionalKey(ContentLimitOptions),
  /**
   * Where the IRIs of entities begin; the namespace follows: `https://data.example.org/id/`. Entities that a graph has keep their IRI.
   * Default: `urn:detent:graph:`.
   */
  iriBase: Schema.optionalKey(IriBase),
  /** The queue of batches with `dispatch: "tasks"`. Default: `{ queue: "durable" }`. */
  tasks: Schema.optionalKey(TaskSettings),
})
export type KnowledgeSettings = typeof KnowledgeSettings.Type
