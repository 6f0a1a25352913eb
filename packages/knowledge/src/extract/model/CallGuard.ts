/**
 * Everything around a call to a model: the budget, the rate limiter, the circuit breaker, the timeout and the retry. Only the call
 * itself depends on the provider.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { addUsage, ExtractionFailed, noUsage, type Usage } from "../Extractor.ts"
import { type Budget, defaultPrices, type ModelPrice, type Tokens, usageOf } from "./Cost.ts"
import { countUsage, timedCall } from "./ModelMetrics.ts"

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
  /** In place of the gate's: its calls of all callers count, and this one's wait until they are fewer. */
  readonly requestsPerMinute?: number
  /** How long the model may be silent before it ends its answer. An answer that arrives in parts may take fifteen times as long. */
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

/** Generous for the thoughts before an answer, and short enough for a connection that died unnoticed. */
const defaultTimeout = "2 minutes"

/** How many times the timeout an answer may take that keeps arriving. */
const longestAnswer = 15

/** Called by clients for each part of an answer that arrives as a stream: the model is at work. */
export const PartReceived = Context.Reference<Effect.Effect<void>>("@detent/knowledge/PartReceived", { defaultValue: () => Effect.void })

export const makeCallGuard = (options: GuardOptions): Effect.Effect<CallGuard> =>
  Effect.gen(function* () {
    const { limiter, breaker } = options.gate ?? (yield* makeModelGate(options.limits))
    const { currency = defaultPrices.currency } = options
    const failed = (fields: Omit<ConstructorParameters<typeof ExtractionFailed>[0], "extractor">) =>
      new ExtractionFailed({ extractor: options.extractor, ...fields })

    const timeout = Duration.fromInputUnsafe(options.timeout ?? defaultTimeout)
    const limit = Duration.toMillis(timeout)

    const timed = <A, R>(call: Effect.Effect<A, ExtractionFailed, R>) =>
      Effect.gen(function* () {
        const started = yield* monotonicMillis
        let last = started
        const received = Effect.map(monotonicMillis, (now) => {
          last = now
        })
        const silence = Effect.gen(function* () {
          while (true) {
            const now = yield* monotonicMillis
            const left = Math.min(last + limit, started + limit * longestAnswer) - now
            if (left <= 0) break
            yield* Effect.sleep(Math.ceil(left))
          }
          const detail = last === started ? `no answer within ${Duration.format(timeout)}` : "the model began its answer and did not end it"
          return yield* failed({ reason: "TimedOut", retryable: true, detail })
        })
        return yield* Effect.raceFirst(Effect.provideService(call, PartReceived, received), silence)
      })

    const attempt = <A, R>(most: Tokens, call: Effect.Effect<Answered<A>, ExtractionFailed, R>) =>
      Effect.gen(function* () {
        // Checked before the wait for a permit and, by `protect`, after it: the wait may be long.
        yield* breaker.check
        const permitted = (permit: Permit) =>
          breaker.protect(timedCall(options.extractor, timed(call)), verdictOf).pipe(
            Effect.tap(({ tokens }) => countUsage(options.extractor, currency, usageOf(options.price, tokens))),
            Effect.tap(({ tokens }) => permit.settle(tokens.inputTokens + tokens.outputTokens)),
            Effect.tapError((error) => (error._tag === "CircuitOpen" ? permit.refund : pauseFor(limiter, error))),
          )
        return yield* limiter.withPermit(most.inputTokens + most.outputTokens, permitted, options.requestsPerMinute)
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
          const reserved = usageOf(options.price, { ...most, cacheWriteTokens: most.inputTokens })
          const paid = options.budget.spend(reserved, attempt(most, call), used).pipe(
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

// Delays calls to a model so that they stay within the provider's limits: requests and tokens in any minute, and concurrent calls.
// Calls wait in order of arrival. A process has one limiter per model and provider; processes that share an account need limits
// that add up to those of the account.

export interface RateLimits {
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  readonly concurrency?: number
}

/** A call that needs more tokens than a whole minute allows: waiting would not help. */
export class CallTooLarge extends Schema.TaggedError<CallTooLarge>()("CallTooLarge", {
  tokens: Schema.Finite,
  tokensPerMinute: Schema.Finite,
}) {
  override get message() {
    return `a call of ${this.tokens} tokens exceeds the limit of ${this.tokensPerMinute} tokens per minute; make the chunks smaller or raise the limit`
  }
}

/** The right to make one call. */
export interface Permit {
  /** Records the actual number of tokens. */
  readonly settle: (tokens: number) => Effect.Effect<void>
  /** Gives the permit back: the call was not made. */
  readonly refund: Effect.Effect<void>
}

export interface RateLimiter {
  /**
   * Waits until the limits allow the call, then makes it. `tokens` is its expected usage. A call may have another limit of requests than
   * the limiter: calls of all callers count for it.
   */
  readonly withPermit: <A, E, R>(
    tokens: number,
    call: (permit: Permit) => Effect.Effect<A, E, R>,
    requestsPerMinute?: number,
  ) => Effect.Effect<A, E | CallTooLarge, R>
  /** Starts no call for this long: the provider's `retry-after`. */
  readonly pause: (millis: number) => Effect.Effect<void>
}

/** The monotonic clock in milliseconds. The time of day may be set back. */
const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

const minute = 60_000

interface Start {
  readonly at: number
  tokens: number
}

export const makeRateLimiter = (limits: RateLimits): Effect.Effect<RateLimiter> =>
  Effect.gen(function* () {
    const allowance = limits.tokensPerMinute ?? Number.POSITIVE_INFINITY
    const running = yield* Semaphore.make(limits.concurrency ?? Number.MAX_SAFE_INTEGER)
    const turn = yield* Semaphore.make(1)
    // The calls of the last minute, the oldest first.
    let starts: Array<Start> = []
    let pausedUntil = Number.NEGATIVE_INFINITY

    /** When the next call with this number of tokens may start, if at most `requests` may in a minute. */
    const earliest = (tokens: number, requests: number, now: number): number => {
      starts = starts.filter(({ at }) => at > now - minute)
      const blocking = starts.length < requests ? undefined : starts[starts.length - requests]
      const afterRequests = blocking === undefined ? now : blocking.at + minute
      return Math.max(now, pausedUntil, afterRequests, afterTokens(tokens, now))
    }

    const afterTokens = (tokens: number, now: number): number => {
      let used = starts.reduce((sum, start) => sum + start.tokens, 0)
      let free = now
      for (const start of starts) {
        if (used + tokens <= allowance) break
        used -= start.tokens
        free = start.at + minute
      }
      return free
    }

    const take = (tokens: number, requests: number): Effect.Effect<Start> =>
      Effect.gen(function* () {
        while (true) {
          const now = yield* monotonicMillis
          const start = { at: now, tokens }
          const at = earliest(tokens, requests, now)
          if (at <= now) {
            starts.push(start)
            return start
          }
          yield* Effect.sleep(Math.ceil(at - now))
        }
      })

    const permitOf = (start: Start): Permit => ({
      settle: (tokens) =>
        Effect.sync(() => {
          start.tokens = tokens
        }),
      refund: Effect.sync(() => {
        starts = starts.filter((other) => other !== start)
      }),
    })

    return {
      withPermit: (tokens, call, requests = limits.requestsPerMinute ?? Number.POSITIVE_INFINITY) =>
        tokens > allowance
          ? Effect.fail(new CallTooLarge({ tokens, tokensPerMinute: allowance }))
          : running.withPermits(1)(Effect.flatMap(turn.withPermits(1)(take(tokens, requests)), (start) => call(permitOf(start)))),
      pause: (millis) =>
        Effect.map(monotonicMillis, (now) => {
          pausedUntil = Math.max(pausedUntil, now + millis)
        }),
    }
  })

// A circuit breaker for a service that keeps failing. After `failures` failures in a row it is open: calls fail immediately. After
// `openFor` it lets `probes` calls through: if all of them succeed it is closed again, and if one fails it is open again.

export interface BreakerOptions {
  readonly failures?: number
  readonly openFor?: Duration.Input
  readonly probes?: number
}

/** The breaker is open and did not make the call. */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  /** The wait before the next attempt. */
  retryAfterMillis: Schema.Finite,
  /** The failure that opened the circuit. */
  failure: Schema.String,
}) {
  override get message() {
    const seconds = Math.ceil(this.retryAfterMillis / 1000)
    return `the service keeps failing, so the circuit breaker is open; try again in ${seconds} s; last failure: ${this.failure}`
  }
}

/** What a call shows about the service. A refusal is an answer, so the service works. */
export type Verdict = "works" | "nothing" | { readonly failing: string }

export type BreakerState = "closed" | "open" | "probing"

export interface CircuitBreaker {
  readonly protect: <A, E, R>(
    call: Effect.Effect<A, E, R>,
    verdict: (exit: Exit.Exit<A, E>) => Verdict,
  ) => Effect.Effect<A, E | CircuitOpen, R>
  /** Fails if the breaker would not let a call through; makes no call. */
  readonly check: Effect.Effect<void, CircuitOpen>
  readonly state: Effect.Effect<BreakerState>
}

type State =
  | { readonly _tag: "Closed"; failures: number }
  | { readonly _tag: "Open"; readonly until: number; readonly failure: string }
  | { readonly _tag: "Probing"; readonly failure: string; started: number; succeeded: number }

/** The wait to suggest while probes run: how long they take is unknown. */
const probeWait = 1000

export const makeCircuitBreaker = (options: BreakerOptions = {}): Effect.Effect<CircuitBreaker> =>
  Effect.sync(() => {
    const failures = options.failures ?? 5
    const openFor = Duration.toMillis(Duration.fromInputUnsafe(options.openFor ?? "30 seconds"))
    const probes = options.probes ?? 3
    let state: State = { _tag: "Closed", failures: 0 }

    const refusal = (now: number): CircuitOpen | undefined => {
      if (state._tag === "Closed") return undefined
      const { failure } = state
      if (state._tag === "Open" && now < state.until) return new CircuitOpen({ retryAfterMillis: Math.ceil(state.until - now), failure })
      if (state._tag === "Probing" && state.started >= probes) return new CircuitOpen({ retryAfterMillis: probeWait, failure })
      return undefined
    }

    /** The state in which the call starts: its result counts only while that state lasts. */
    const enter = (): State => {
      if (state._tag === "Open") state = { _tag: "Probing", failure: state.failure, started: 0, succeeded: 0 }
      if (state._tag === "Probing") state.started++
      return state
    }

    const leave = (entered: State, verdict: Verdict, now: number): void => {
      if (entered !== state) return
      if (typeof verdict === "object") {
        if (state._tag === "Closed" && ++state.failures < failures) return
        state = { _tag: "Open", until: now + openFor, failure: verdict.failing }
      } else if (state._tag === "Closed") {
        if (verdict === "works") state.failures = 0
      } else if (state._tag === "Probing") {
        if (verdict === "nothing") state.started--
        else if (++state.succeeded === probes) state = { _tag: "Closed", failures: 0 }
      }
    }

    return {
      protect: (call, verdict) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const now = yield* monotonicMillis
            const refused = refusal(now)
            if (refused !== undefined) return yield* refused
            const entered = enter()
            const exit = yield* Effect.exit(restore(call))
            leave(entered, verdict(exit), yield* monotonicMillis)
            return yield* exit
          }),
        ),
      check: Effect.flatMap(monotonicMillis, (now) => {
        const refused = refusal(now)
        return refused === undefined ? Effect.void : Effect.fail(refused)
      }),
      state: Effect.sync(() => (state._tag === "Closed" ? "closed" : state._tag === "Open" ? "open" : "probing")),
    }
  })
