/** Effects as Promises: the error of a rejected Promise is the Effect's own error, not a wrapper around it. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export interface AbortOptions {
  /** Ends the wait; the Promise is rejected with the signal's reason. */
  readonly signal?: AbortSignal
}

export type RunPromise<R> = <A, E>(effect: Effect.Effect<A, E, R>, options?: AbortOptions) => Promise<A>

/** Runs Effects with these services. */
export const runPromiseIn = <R>(context: Context.Context<R>): RunPromise<R> => {
  const fork = Effect.runForkWith(context)
  return (effect, options) =>
    new Promise((resolve, reject) => {
      const signal = options?.signal
      if (signal?.aborted) return reject(signal.reason)
      fork(effect, signal === undefined ? undefined : { signal }).addObserver((exit) => {
        if (Exit.isSuccess(exit)) resolve(exit.value)
        else reject(signal?.aborted && Cause.hasInterruptsOnly(exit.cause) ? signal.reason : Cause.squash(exit.cause))
      })
    })
}
