/**
 * A circuit breaker for a service that keeps failing. After `failures` failures in a row it is open: calls fail immediately. After
 * `openFor` it lets `probes` calls through: if all of them succeed it is closed again, and if one fails it is open again.
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
