/**
 * Everything around a call to a model: the budget, the rate limiter, the circuit breaker, the timeout and the retry. Only the call
 * itself depends on the provider.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Result from "effect/Result"
import { countUsage, timedCall } from "../../KnowledgeMetrics.ts"
import { addUsage, ExtractionFailed, noUsage, type Usage } from "../Extractor.ts"
import type { Budget } from "./Budget.ts"
import { type CircuitBreaker, makeCircuitBreaker, type Verdict } from "./CircuitBreaker.ts"
import { defaultPrices, type ModelPrice, type Tokens, usageOf } from "./Cost.ts"
import { makeRateLimiter, type RateLimiter, type RateLimits } from "./RateLimiter.ts"

export interface GuardOptions {
  /** The name in errors and provenance: `anthropic/claude-…`. */
  readonly extractor: string
  readonly price: ModelPrice | undefined
  /** The currency of `price`. Default: that of the default prices. */
  readonly currency?: string
  readonly budget: Budget
  readonly limits: RateLimits
  /** Shared by all callers of the same model. Default: a gate of its own, with `limits`. */
  readonly gate?: ModelGate
  /** How long one attempt may take. */
  readonly timeout?: Duration.Input
  readonly retry?: RetryPolicy
}

/** Shared by all callers of one model in this process, for any batch. */
export interface ModelGate {
  readonly limiter: RateLimiter
  readonly breaker: CircuitBreaker
}

export const makeModelGate = (limits: RateLimits): Effect.Effect<ModelGate> =>
  Effect.all({ limiter: makeRateLimiter(limits), breaker: makeCircuitBreaker() })

/** The result of a call: tokens are billed also for an answer that cannot be used. */
export interface Answered<A> {
  readonly tokens: Tokens
  readonly answer: Result.Result<A, ExtractionFailed>
}

export interface CallGuard {
  /** `most` is the maximum usage of the call. The usage is that of all attempts. */
  readonly call: <A, R>(
    most: Tokens,
    call: Effect.Effect<Answered<A>, ExtractionFailed, R>,
  ) => Effect.Effect<{ readonly answer: A; readonly usage: Usage }, ExtractionFailed, R>
  readonly breaker: CircuitBreaker
}

/** Generous for a long answer, and short enough for a connection that died unnoticed. */
const defaultTimeout = "2 minutes"

export const makeCallGuard = (options: GuardOptions): Effect.Effect<CallGuard> =>
  Effect.gen(function* () {
    const { limiter, breaker } = options.gate ?? (yield* makeModelGate(options.limits))
    const { currency = defaultPrices.currency } = options
    const failed = (fields: Omit<ConstructorParameters<typeof ExtractionFailed>[0], "extractor">) =>
      new ExtractionFailed({ extractor: options.extractor, ...fields })

    const timed = <A, R>(call: Effect.Effect<A, ExtractionFailed, R>) => {
      const timeout = Duration.fromInputUnsafe(options.timeout ?? defaultTimeout)
      return Effect.timeoutOrElse(call, {
        duration: timeout,
        orElse: () => Effect.fail(failed({ reason: "TimedOut", retryable: true, detail: `no answer within ${Duration.format(timeout)}` })),
      })
    }

    const attempt = <A, R>(most: Tokens, call: Effect.Effect<Answered<A>, ExtractionFailed, R>) =>
      Effect.gen(function* () {
        // Checked before the wait for a permit and, by `protect`, after it: the wait may be long.
        yield* breaker.check
        return yield* limiter.withPermit(most.inputTokens + most.outputTokens, (permit) =>
          breaker.protect(timedCall(options.extractor, timed(call)), verdictOf).pipe(
            Effect.tap(({ tokens }) => countUsage(options.extractor, currency, usageOf(options.price, tokens))),
            Effect.tap(({ tokens }) => permit.settle(tokens.inputTokens + tokens.outputTokens)),
            Effect.tapError((error) => (error._tag === "CircuitOpen" ? permit.refund : pauseFor(limiter, error))),
          ),
        )
      }).pipe(
        Effect.catchTags({
          CircuitOpen: ({ retryAfterMillis, message }) =>
            Effect.fail(failed({ reason: "Unavailable", retryable: true, stops: "ModelUnavailable", retryAfterMillis, detail: message })),
          CallTooLarge: ({ message }) => Effect.fail(failed({ reason: "TooLong", retryable: false, detail: message })),
        }),
      )

    return {
      breaker,
      call: (most, call) =>
        Effect.suspend(() => {
          let total = noUsage
          const used = (exit: Exit.Exit<Answered<unknown>, unknown>): Usage => {
            // A call without an answer is not billed.
            const usage = Exit.isSuccess(exit) ? usageOf(options.price, exit.value.tokens) : noUsage
            total = addUsage(total, usage)
            return usage
          }
          const paid = options.budget.spend(usageOf(options.price, most), attempt(most, call), used).pipe(
            Effect.catchTag(["BudgetExhausted", "PriceUnknown"], (cause) =>
              Effect.fail(failed({ reason: "NotAllowed", retryable: false, stops: cause._tag, detail: cause.message, cause })),
            ),
            Effect.flatMap(({ answer }) => Effect.fromResult(answer)),
          )
          return Effect.map(retried(paid, options.retry ?? defaultRetryPolicy), (answer) => ({ answer, usage: total }))
        }),
    }
  })

/** A wait that the provider asks of one call applies to all calls. */
const pauseFor = (limiter: RateLimiter, error: ExtractionFailed): Effect.Effect<void> =>
  error.retryAfterMillis === undefined ? Effect.void : limiter.pause(error.retryAfterMillis)

/** A refusal or an invalid answer shows that the service works; a rate limit shows neither. */
const verdictOf = (exit: Exit.Exit<unknown, ExtractionFailed>): Verdict => {
  if (Exit.isSuccess(exit)) return "works"
  const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (error === undefined || error.reason === "RateLimited") return "nothing"
  return ["Overloaded", "Unavailable", "TimedOut"].includes(error.reason) ? { failing: error.detail } : "works"
}

/** Retries failures that may pass, after waits that double, have jitter, and are never shorter than the provider asks for. */
export interface RetryPolicy {
  /** The maximum number of attempts, including the first. */
  readonly attempts: number
  /** The first wait is at most this long, the next twice that, and so on. */
  readonly firstWait: Duration.Input
  readonly longestWait: Duration.Input
}

export const defaultRetryPolicy: RetryPolicy = { attempts: 5, firstWait: "1 second", longestWait: "1 minute" }

/** The wait after a failed attempt, counted from 1. Half of it is jitter, so that callers that failed together retry at different times. */
export const waitAfter = (policy: RetryPolicy, attempt: number, chance: number): number => {
  const first = Duration.toMillis(Duration.fromInputUnsafe(policy.firstWait))
  const longest = Duration.toMillis(Duration.fromInputUnsafe(policy.longestWait))
  const whole = Math.min(longest, first * 2 ** (attempt - 1))
  return whole / 2 + (whole / 2) * chance
}

const retried = <A, R>(call: Effect.Effect<A, ExtractionFailed, R>, policy: RetryPolicy): Effect.Effect<A, ExtractionFailed, R> => {
  const attempt = (number: number): Effect.Effect<A, ExtractionFailed, R> =>
    Effect.catch(call, (error) =>
      Effect.gen(function* () {
        if (!error.retryable || number >= policy.attempts) return yield* error
        const wait = waitAfter(policy, number, yield* Random.next)
        yield* Effect.sleep(Math.max(wait, error.retryAfterMillis ?? 0))
        return yield* attempt(number + 1)
      }),
    )
  return attempt(1)
}
