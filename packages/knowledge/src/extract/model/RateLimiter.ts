/**
 * Keeps calls to a model within the provider's limits, before they are made: requests and tokens in any minute, and calls at
 * once. Calls wait in the order they came. One limiter stands for one model of one provider in this process; processes that share
 * an account share its limits out among themselves.
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
    return `a call of ${this.tokens} tokens does not fit the limit of ${this.tokensPerMinute} tokens a minute; make the chunks smaller or raise the limit`
  }
}

/** The right to make one call. */
export interface Permit {
  /** How many tokens it really took. */
  readonly settle: (tokens: number) => Effect.Effect<void>
  /** The call was not made after all. */
  readonly refund: Effect.Effect<void>
}

export interface RateLimiter {
  /** Makes the call when its turn has come. `tokens` is its expected usage. */
  readonly withPermit: <A, E, R>(tokens: number, call: (permit: Permit) => Effect.Effect<A, E, R>) => Effect.Effect<A, E | CallTooLarge, R>
  /** No call is made for this long: the provider's `retry-after`. */
  readonly pause: (millis: number) => Effect.Effect<void>
}

/** Milliseconds that only grow. The time of day may be set back. */
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
    // Every call of the last minute, the oldest first.
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
