/**
 * A circuit breaker for a service that keeps failing. After some failures in a row it is open: calls fail immediately. After a while a few
 * are let through to see whether it is back; if they all succeed it is closed again, and if one fails it is open again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { monotonicMillis } from "./RateLimiter.ts"

export interface BreakerOptions {
  readonly failures?: number
  readonly openFor?: Duration.Input
  readonly probes?: number
}

/** The call was not made. */
export class CircuitOpen extends Schema.TaggedError<CircuitOpen>()("CircuitOpen", {
  /** How long until it is worth trying again. */
  retryAfterMillis: Schema.Finite,
  /** The failure that opened the circuit. */
  failure: Schema.String,
}) {
  override get message() {
    const seconds = Math.ceil(this.retryAfterMillis / 1000)
    return `the service has kept failing and is left alone for now; try again in ${seconds} s; it failed last with: ${this.failure}`
  }
}

/** The verdict of a call on the service. A refusal is an answer: the service works. */
export type Verdict = "works" | "nothing" | { readonly failing: string }

export type BreakerState = "closed" | "open" | "probing"

export interface CircuitBreaker {
  readonly protect: <A, E, R>(
    call: Effect.Effect<A, E, R>,
    verdict: (exit: Exit.Exit<A, E>) => Verdict,
  ) => Effect.Effect<A, E | CircuitOpen, R>
  /** Fails when a call would not be let through, without making one. */
  readonly check: Effect.Effect<void, CircuitOpen>
  readonly state: Effect.Effect<BreakerState>
}

type State =
  | { readonly _tag: "Closed"; failures: number }
  | { readonly _tag: "Open"; readonly until: number; readonly failure: string }
  | { readonly _tag: "Probing"; readonly failure: string; started: number; succeeded: number }

/** The duration of the probes is unknown while they run. */
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
