/** What was used, added up. A sum of which one part is not known is not known. */
import type { Usage } from "../Extractor.ts"
import { costOf, type ModelPrice, type Tokens } from "./Prices.ts"

export const noUsage: Usage = { calls: 0, inputTokens: 0, outputTokens: 0, cost: 0 }

export const addUsage = (one: Usage, other: Usage): Usage => ({
  calls: one.calls + other.calls,
  inputTokens: one.inputTokens + other.inputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
  cost: one.cost === undefined || other.cost === undefined ? undefined : one.cost + other.cost,
})

/** One call's. */
export const usageOf = (price: ModelPrice | undefined, tokens: Tokens): Usage => ({
  calls: 1,
  inputTokens: tokens.inputTokens,
  outputTokens: tokens.outputTokens,
  cost: costOf(price, tokens),
})

/**
 * About how many tokens a text takes, without asking the provider: a third of its bytes. English takes a quarter, Chinese one
 * for three bytes, so this errs on the side of too many.
 */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)
