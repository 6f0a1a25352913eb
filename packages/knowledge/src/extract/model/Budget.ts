/**
 * A limit on spending. Every call reserves its maximum cost before it is made, and reports its actual cost afterwards. When the
 * next call no longer fits, the budget waits for the calls in flight, since they mostly cost less than they reserved. If the call
 * still does not fit, the budget refuses it and all later calls.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { addUsage, noUsage, type Usage } from "../Extractor.ts"

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
