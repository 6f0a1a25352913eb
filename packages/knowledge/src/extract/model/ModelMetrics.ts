/** The metrics of this process about models: calls, tokens, cost, and durations of calls. */
import * as Effect from "effect/Effect"
import { add, counter, histogram, timed } from "../../Metrics.ts"
import type { Usage } from "../Extractor.ts"

const modelCalls = counter("model_calls", "calls to models, by model and outcome")
const modelTokens = counter("model_tokens", "tokens that models have read and written, by model and direction: input or output")
const modelCost = counter("model_cost", "cost of models, by model and currency; a call without a known price adds nothing")

const modelCallMillis = histogram("model_call", "how long a call to a model took, by model and outcome")

export const countUsage = (model: string, currency: string, usage: Usage): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* add(modelTokens, { model, direction: "input" }, usage.inputTokens)
    yield* add(modelTokens, { model, direction: "output" }, usage.outputTokens)
    if (usage.cost !== undefined) yield* add(modelCost, { model, currency }, usage.cost)
  })

/** Counts one attempt at a call, and measures how long it took without the wait for the rate limit. */
export const timedCall = <A, E, R>(model: string, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  timed(call, (outcome, millis) => Effect.andThen(add(modelCalls, { model, outcome }, 1), add(modelCallMillis, { model, outcome }, millis)))
