/**
 * The cost of calls to models: prices, usage, and the budget that limits them. Prices change and differ between accounts, so the table
 * is data: the one here is dated and meant to be replaced. A model that is not in the table, or whose price does not fit its form, has
 * an unknown price, which is not a price of zero.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { addUsage, noUsage, type Usage } from "../Extractor.ts"

const Price = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

export const ModelPrice = Schema.Struct({
  /** The provider's name of the model, without a date at the end. */
  model: Schema.String,
  /** The prices of a million tokens. */
  input: Price,
  output: Price,
  /** Of tokens that the provider reads from its cache. Default: `input`. */
  cachedInput: Schema.optionalKey(Price),
  /** Of tokens that the provider writes to its cache. Default: `input`. */
  cacheWrite: Schema.optionalKey(Price),
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
    { model: "claude-opus-5-5", input: 4, output: 20, cachedInput: 0.4, cacheWrite: 5, asOf: "2026-10" },
    { model: "claude-opus-5", input: 5, output: 25, cachedInput: 0.5, cacheWrite: 6.25, asOf: "2026-10" },
    { model: "claude-sonnet-5-5", input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5, asOf: "2026-10" },
    { model: "claude-sonnet-5", input: 2, output: 10, cachedInput: 0.2, cacheWrite: 2.5, asOf: "2026-10" },
    { model: "claude-sonnet-4-6", input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75, asOf: "2026-10" },
    { model: "claude-haiku-4-5", input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25, asOf: "2026-10" },
    { model: "gpt-5.4", input: 2.5, output: 15, asOf: "2026-03" },
    { model: "gpt-5.1", input: 1.25, output: 10, cachedInput: 0.125, asOf: "2026-03" },
    { model: "gpt-5", input: 1.25, output: 10, cachedInput: 0.125, asOf: "2026-03" },
    { model: "gpt-5-mini", input: 0.25, output: 2, cachedInput: 0.025, asOf: "2026-03" },
    { model: "gpt-4.1", input: 2, output: 8, cachedInput: 0.5, asOf: "2026-03" },
    { model: "gpt-4.1-mini", input: 0.4, output: 1.6, cachedInput: 0.1, asOf: "2026-03" },
    { model: "gpt-4o", input: 2.5, output: 10, cachedInput: 1.25, asOf: "2026-03" },
    { model: "gpt-4o-mini", input: 0.15, output: 0.6, cachedInput: 0.075, asOf: "2026-03" },
  ],
}

/** A model's price, also when its name ends in a date: `claude-haiku-4-5-20251001`. Never the price of a model with a similar name. */
export const priceOf = (table: PriceTable, model: string): ModelPrice | undefined =>
  table.models.find((price) => price.model === model) ??
  table.models.find((price) => model.startsWith(price.model) && /^-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$/.test(model.slice(price.model.length)))

export interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Those of the input that the provider read from its cache. */
  readonly cachedTokens?: number
  /** Those of the input that the provider wrote to its cache. */
  readonly cacheWriteTokens?: number
}

/** Undefined when the price is not known. */
export const costOf = (price: ModelPrice | undefined, tokens: Tokens): number | undefined => {
  if (price === undefined) return undefined
  const { inputTokens, outputTokens, cachedTokens = 0, cacheWriteTokens = 0 } = tokens
  const { input, output, cachedInput = input, cacheWrite = input } = price
  const read = (inputTokens - cachedTokens - cacheWriteTokens) * input + cachedTokens * cachedInput + cacheWriteTokens * cacheWrite
  return (read + outputTokens * output) / 1_000_000
}

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

// A limit on spending. Every call reserves its maximum cost before it is made, and reports its actual cost afterwards. When the
// next call no longer fits, the budget waits for the calls in flight, since they mostly cost less than they reserved. If the call
// still does not fit, the budget refuses it and all later calls.

export interface BudgetLimits {
  /** In the currency of the price table. */
  readonly cost?: number
  /** Input and output together. */
  readonly tokens?: number
  /** The currency of `cost`, for messages. */
  readonly currency?: string
}

/** The next call does not fit the budget. The findings so far are kept. */
export class BudgetExhausted extends Schema.TaggedError<BudgetExhausted>()("BudgetExhausted", {
  of: Schema.Literals(["cost", "tokens"]),
  limit: Schema.Finite,
  spent: Schema.Finite,
  /** The maximum usage of the next call. */
  needed: Schema.Finite,
  currency: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const unit = this.of === "tokens" ? " tokens" : this.currency === undefined ? "" : ` ${this.currency}`
    return `the budget of ${this.limit}${unit} is used up: ${rounded(this.spent)} spent, ${rounded(this.needed)} needed for the next call; raise the budget and resume`
  }
}

/** A budget of money cannot be kept for a model whose price is not known. */
export class PriceUnknown extends Schema.TaggedError<PriceUnknown>()("PriceUnknown", {}) {
  override get message() {
    return "the model's price is not known, so a budget of money cannot be kept; add it to the price table, or set a budget of tokens"
  }
}

/** Drops the meaningless digits of a sum of prices. */
const rounded = (amount: number): number => Number(amount.toFixed(6))

export interface Budget {
  /** Makes the call if its maximum usage fits; waits for calls in flight where that may help. */
  readonly spend: <A, E, R>(
    most: Usage,
    call: Effect.Effect<A, E, R>,
    /** Its actual usage. */
    used: (exit: Exit.Exit<A, E>) => Usage,
  ) => Effect.Effect<A, E | BudgetExhausted | PriceUnknown, R>
  /** The usage of all calls that have ended. */
  readonly spent: Effect.Effect<Usage>
}

type Outcome =
  | { readonly _tag: "Reserved"; readonly kept: Usage }
  | { readonly _tag: "Wait"; readonly turn: Deferred.Deferred<void> }
  | { readonly _tag: "Refused"; readonly error: BudgetExhausted | PriceUnknown }

/** `before` is the amount that earlier processes spent. */
export const makeBudget = (limits: BudgetLimits, before: Usage = noUsage): Effect.Effect<Budget> =>
  Effect.sync(() => {
    let spent = before
    let exhausted: BudgetExhausted | undefined
    const reserved = new Set<Usage>()
    const waiting: Array<Deferred.Deferred<void>> = []

    const overrun = (most: Usage, before: Usage): BudgetExhausted | undefined => {
      const needed = tokensOf(most)
      if (limits.tokens !== undefined && tokensOf(before) + needed > limits.tokens) {
        return new BudgetExhausted({ of: "tokens", limit: limits.tokens, spent: tokensOf(spent), needed })
      }
      if (limits.cost !== undefined && (before.cost ?? 0) + (most.cost ?? 0) > limits.cost) {
        return new BudgetExhausted({
          of: "cost",
          limit: limits.cost,
          spent: spent.cost ?? 0,
          needed: most.cost ?? 0,
          ...(limits.currency === undefined ? {} : { currency: limits.currency }),
        })
      }
      return undefined
    }

    /** Reserves the maximum usage, refuses it, or returns a deferred to wait for before another attempt. */
    const reserve = (most: Usage): Outcome => {
      if (limits.cost !== undefined && most.cost === undefined) return { _tag: "Refused", error: new PriceUnknown() }
      exhausted ??= overrun(most, spent)
      if (exhausted !== undefined) return { _tag: "Refused", error: exhausted }
      if (overrun(most, [...reserved].reduce(addUsage, spent)) === undefined) {
        // A copy, since two calls may be given the same estimate.
        const kept = { ...most }
        reserved.add(kept)
        return { _tag: "Reserved", kept }
      }
      const turn = Deferred.makeUnsafe<void>()
      waiting.push(turn)
      return { _tag: "Wait", turn }
    }

    const settle = (kept: Usage, usage: Usage): void => {
      reserved.delete(kept)
      spent = addUsage(spent, usage)
      for (const turn of waiting.splice(0)) Deferred.doneUnsafe(turn, Effect.void)
    }

    return {
      spend: (most, call, used) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            while (true) {
              const outcome = reserve(most)
              if (outcome._tag === "Refused") return yield* outcome.error
              if (outcome._tag === "Wait") {
                yield* restore(Deferred.await(outcome.turn))
                continue
              }
              const exit = yield* Effect.exit(restore(call))
              settle(outcome.kept, used(exit))
              return yield* exit
            }
          }),
        ),
      spent: Effect.sync(() => spent),
    }
  })

/** A budget without a limit. It still counts the usage. */
export const unlimited: Effect.Effect<Budget> = makeBudget({})

const tokensOf = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens
