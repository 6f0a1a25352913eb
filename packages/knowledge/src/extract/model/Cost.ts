/**
 * Prices and usage of models. Prices change and differ between accounts, so the table is data: the one here is dated and meant to be
 * replaced. A model that is not in the table, or whose price does not fit its form, has an unknown price, which is not a price of zero.
 */
import * as Schema from "effect/Schema"
import type { Usage } from "../Extractor.ts"

export const ModelPrice = Schema.Struct({
  /** The provider's name of the model, without a date at the end. */
  model: Schema.String,
  /** The prices of a million tokens. */
  input: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
  output: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
  /** The month of the price: `2026-04`. */
  asOf: Schema.String,
})
export type ModelPrice = typeof ModelPrice.Type

export const PriceTable = Schema.Struct({
  currency: Schema.String,
  models: Schema.Array(ModelPrice),
})
export type PriceTable = typeof PriceTable.Type

export const PriceTableJson = Schema.fromJsonString(PriceTable)

export const defaultPrices: PriceTable = {
  currency: "USD",
  models: [
    { model: "claude-opus-5-5", input: 4, output: 20, asOf: "2026-10" },
    { model: "claude-opus-5", input: 5, output: 25, asOf: "2026-10" },
    { model: "claude-sonnet-5-5", input: 2, output: 10, asOf: "2026-10" },
    { model: "claude-sonnet-5", input: 2, output: 10, asOf: "2026-10" },
    { model: "claude-sonnet-4-6", input: 3, output: 15, asOf: "2026-10" },
    { model: "claude-haiku-4-5", input: 1, output: 5, asOf: "2026-10" },
    { model: "gpt-5.4", input: 2.5, output: 15, asOf: "2026-03" },
    { model: "gpt-5.1", input: 1.25, output: 10, asOf: "2026-03" },
    { model: "gpt-5", input: 1.25, output: 10, asOf: "2026-03" },
    { model: "gpt-5-mini", input: 0.25, output: 2, asOf: "2026-03" },
    { model: "gpt-4.1", input: 2, output: 8, asOf: "2026-03" },
    { model: "gpt-4.1-mini", input: 0.4, output: 1.6, asOf: "2026-03" },
    { model: "gpt-4o", input: 2.5, output: 10, asOf: "2026-03" },
    { model: "gpt-4o-mini", input: 0.15, output: 0.6, asOf: "2026-03" },
  ],
}

/** A model's price, also when its name ends in a date: `claude-haiku-4-5-20251001`. Never the price of a model with a similar name. */
export const priceOf = (table: PriceTable, model: string): ModelPrice | undefined =>
  table.models.find((price) => price.model === model) ??
  table.models.find((price) => model.startsWith(price.model) && /^-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/.test(model.slice(price.model.length)))

export interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Undefined when the price is not known. */
export const costOf = (price: ModelPrice | undefined, tokens: Tokens): number | undefined =>
  price === undefined ? undefined : (tokens.inputTokens * price.input + tokens.outputTokens * price.output) / 1_000_000

/** The usage of one call. */
export const usageOf = (price: ModelPrice | undefined, tokens: Tokens): Usage => ({
  calls: 1,
  inputTokens: tokens.inputTokens,
  outputTokens: tokens.outputTokens,
  cost: costOf(price, tokens),
})

/**
 * Estimates the tokens of a text without calling the provider: a third of its bytes. English has a token for four bytes, Chinese
 * one for three, so the estimate is rather too high.
 */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)
