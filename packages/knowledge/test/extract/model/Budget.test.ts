import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { addUsage, noUsage, type Usage } from "../../../src/extract/Extractor.ts"
import { costOf, defaultPrices, estimateTokens, makeBudget, PriceTableJson, priceOf, usageOf } from "../../../src/extract/model/Cost.ts"

const usage = (tokens: number, cost: number | undefined = tokens / 100): Usage => ({ calls: 1, inputTokens: tokens, outputTokens: 0, cost })

describe("prices", () => {
  it("are found for a model and its dated versions, never for one called alike", () => {
    assert.strictEqual(priceOf(defaultPrices, "gpt-4o-mini")?.input, 0.15)
    assert.strictEqual(priceOf(defaultPrices, "claude-haiku-4-5-20251001")?.output, 5)
    assert.strictEqual(priceOf(defaultPrices, "gpt-4o-2024-08-06")?.input, 2.5)
    for (const model of ["gpt-4o-audio-preview", "gpt-4", "claude-sonnet", "llama3"])
      assert.isUndefined(priceOf(defaultPrices, model), model)
  })

  it("that are not known give costs that are not known", () => {
    assert.isUndefined(costOf(undefined, { inputTokens: 1, outputTokens: 1 }))
    assert.isUndefined(addUsage(usage(1, 2), usageOf(undefined, { inputTokens: 1, outputTokens: 1 })).cost)
    assert.strictEqual(costOf(priceOf(defaultPrices, "claude-sonnet-4-6"), { inputTokens: 1_000_000, outputTokens: 100_000 }), 4.5)
  })

  it("can be given by the user, as data", () => {
    const table = Schema.decodeUnknownSync(PriceTableJson)(
      `{"currency":"EUR","models":[{"model":"house-model","input":0,"output":0.5,"asOf":"2026-01"}]}`,
    )
    assert.strictEqual(costOf(priceOf(table, "house-model"), { inputTokens: 9, outputTokens: 2_000_000 }), 1)
    assert.throws(() =>
      Schema.decodeUnknownSync(PriceTableJson)(`{"currency":"EUR","models":[{"model":"x","input":-1,"output":1,"asOf":""}]}`),
    )
  })

  it("tokens are guessed too high rather than too low", () => {
    assert.strictEqual(estimateTokens(""), 0)
    assert.isAtLeast(estimateTokens("The quick brown fox jumps over the lazy dog."), 10)
    assert.isAtLeast(estimateTokens("東京都庁舎"), 5)
  })
})

describe("a budget", () => {
  it.effect("counts what was used and stops when the next call does not fit", () =>
    Effect.gen(function* () {
      const budget = yield* makeBudget({ tokens: 100 })
      const spend = (most: number, really: number) => budget.spend(usage(most), Effect.succeed("ok"), () => usage(really))
      yield* spend(60, 40)
      yield* spend(60, 50)
      const exhausted = yield* Effect.flip(spend(20, 20))
      assert.strictEqual(
        exhausted.message,
        "the budget of 100 tokens is used up: 90 spent, 20 needed for the next call; raise the budget and resume",
      )
      assert.strictEqual((yield* Effect.flip(spend(1, 1)))._tag, "BudgetExhausted", "nothing is started any more")
      assert.deepInclude(yield* budget.spent, { calls: 2, inputTokens: 90 })
    }),
  )

  it.effect("waits for calls under way, which mostly take less than they might", () =>
    Effect.gen(function* () {
      const budget = yield* makeBudget({ cost: 1 })
      const call = budget.spend(usage(80, 0.8), Effect.sleep("1 second"), () => usage(10, 0.1))
      const calls = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(call, { startImmediately: true }))
      yield* TestClock.adjust("3 seconds")
      yield* Effect.forEach(calls, Fiber.join)
      assert.closeTo((yield* budget.spent).cost ?? 0, 0.3, 1e-9)
      assert.strictEqual((yield* Effect.flip(call))._tag, "BudgetExhausted")
    }),
  )

  it.effect("gives back what an interrupted call had set aside", () =>
    Effect.gen(function* () {
      const budget = yield* makeBudget({ tokens: 100 })
      const used = (exit: Exit.Exit<unknown, unknown>) => (Exit.isSuccess(exit) ? usage(10) : noUsage)
      const first = yield* Effect.forkChild(budget.spend(usage(90), Effect.never, used), { startImmediately: true })
      const waiting = yield* Effect.forkChild(budget.spend(usage(90), Effect.never, used), { startImmediately: true })
      const last = yield* Effect.forkChild(budget.spend(usage(90), Effect.succeed("done"), used), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(first)
      assert.strictEqual(yield* Fiber.join(last), "done")
      assert.strictEqual((yield* budget.spent).inputTokens, 10)
    }),
  )

  it.effect("of money needs a price", () =>
    Effect.gen(function* () {
      const budget = yield* makeBudget({ cost: 1 })
      const unknown = yield* Effect.flip(budget.spend({ ...noUsage, cost: undefined }, Effect.void, () => noUsage))
      assert.include(unknown.message, "add it to the price table, or set a budget of tokens")
    }),
  )

  const Call = Schema.Struct({
    most: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 50 })),
    part: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 })),
    seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })),
  })
  it.effect.prop(
    "is never overdrawn by calls that take no more than they said",
    {
      limit: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })),
      calls: Arbitrary.array(Arbitrary.schema(Call), { maxLength: 20 }),
    },
    ({ limit, calls }) =>
      Effect.gen(function* () {
        const budget = yield* makeBudget({ tokens: limit })
        const all = Effect.forEach(
          calls,
          ({ most, part, seconds }) =>
            Effect.exit(budget.spend(usage(most), Effect.sleep(seconds * 1000), () => usage(Math.floor(most * part)))),
          { concurrency: 4 },
        )
        const fiber = yield* Effect.forkChild(all, { startImmediately: true })
        for (let step = 0; step < 200 && fiber.pollUnsafe() === undefined; step++) yield* TestClock.adjust("1 second")
        const exits = yield* Fiber.join(fiber)
        const spent = yield* budget.spent
        assert.isAtMost(spent.inputTokens, limit)
        assert.strictEqual(spent.calls, exits.filter(Exit.isSuccess).length)
      }),
    { arbitrary: { runs: 60 } },
  )
})
