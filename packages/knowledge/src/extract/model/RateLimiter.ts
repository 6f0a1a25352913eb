/**
 * Delays calls to a model so that they stay within the provider's limits: requests and tokens in any minute, and concurrent calls.
 * Calls wait in order of arrival. A process has one limiter per model and provider; processes that share an account need limits
 * that add up to those of the account.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"

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
  /** Waits until the limits allow the call, then makes it. `tokens` is its expected usage. */
  readonly withPermit: <A, E, R>(tokens: number, call: (permit: Permit) => Effect.Effect<A, E, R>) => Effect.Effect<A, E | CallTooLarge, R>
  /** Starts no call for this long: the provider's `retry-after`. */
  readonly pause: (millis: number) => Effect.Effect<void>
}

/** The monotonic clock in milliseconds. The time of day may be set back. */
export const monotonicMillis: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1e6)

const minute = 60_000

interface Start {
  readonly at: number
  tokens: number
}

export const makeRateLimiter = (limits: RateLimits): Effect.Effect<RateLimiter> =>
  Effect.gen(function* () {
    const requests = limits.requestsPerMinute ?? Number.POSITIVE_INFINITY
    const allowance = limits.tokensPerMinute ?? Number.POSITIVE_INFINITY
    const running = yield* Semaphore.make(limits.concurrency ?? Number.MAX_SAFE_INTEGER)
    const turn = yield* Semaphore.make(1)
    // The calls of the last minute, the oldest first.
    let starts: Array<Start> = []
    let pausedUntil = Number.NEGATIVE_INFINITY

    /** When the next call with this number of tokens may start. */
    const earliest = (tokens: number, now: number): number => {
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

    const take = (tokens: number): Effect.Effect<Start> =>
      Effect.gen(function* () {
        while (true) {
          const now = yield* monotonicMillis
          const start = { at: now, tokens }
          const at = earliest(tokens, now)
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
      withPermit: (tokens, call) =>
        tokens > allowance
          ? Effect.fail(new CallTooLarge({ tokens, tokensPerMinute: allowance }))
          : running.withPermits(1)(Effect.flatMap(turn.withPermits(1)(take(tokens)), (start) => call(permitOf(start)))),
      pause: (millis) =>
        Effect.map(monotonicMillis, (now) => {
          pausedUntil = Math.max(pausedUntil, now + millis)
        }),
    }
  })
