/**
 * Results that are made once for each key and kept, the least recently used ones up to a number. Concurrent callers share the making. It
 * runs in the scope of this cache, not in that of a caller, so a caller that is interrupted takes nothing from the others. Only successes
 * are kept: after a failure or an interruption, the next caller makes the result again.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

export class SharedResults<A, E> {
  readonly #scope: Scope.Scope
  readonly #most: number
  /** Least recently used first. */
  readonly #results = new Map<string, Deferred.Deferred<A, E>>()

  constructor(scope: Scope.Scope, most: number) {
    this.#scope = scope
    this.#most = most
  }

  get(key: string, make: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      const known = this.#results.get(key)
      if (known !== undefined) {
        this.#keep(key, known)
        return Deferred.await(known)
      }
      const result = Deferred.makeUnsafe<A, E>()
      this.#keep(key, result)
      const making = Effect.onExit(make, (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit) && this.#results.get(key) === result) this.#results.delete(key)
          Deferred.doneUnsafe(result, exit)
        }),
      )
      return Effect.andThen(Effect.forkIn(making, this.#scope), Deferred.await(result))
    })
  }

  #keep(key: string, result: Deferred.Deferred<A, E>) {
    this.#results.delete(key)
    this.#results.set(key, result)
    const [oldest] = this.#results.keys()
    if (this.#results.size > this.#most && oldest !== undefined) this.#results.delete(oldest)
  }
}
