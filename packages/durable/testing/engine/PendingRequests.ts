/**
 * The requests that a store has not answered yet. A database answers in real time: a test clock that is advanced while it does
 * would end the request by a deadline of the engine that no real store would miss.
 */

import { Journal, Leases, Timers } from "@detent/store"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Store } from "./StoreProbe.ts"

/** Sleeps in real time, also under a test clock. */
export const liveSleep = (millis: number) => Effect.provideService(Effect.sleep(millis), Clock.Clock, Clock.Clock.defaultValue())

/** Lets every fiber that can run do so once: their scheduler runs them before what is queued after them. */
const turn = Effect.callback<void>((resume) => {
  const queued = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(queued))
})

/** Fibers that hand over to others a few times in between have made their next request by then. */
const calmTurns = 16

/** A request that takes longer waits for a lock that only the test can free. */
const longestMillis = 1000

export class PendingRequests {
  #count = 0

  /** The same store, with its requests counted. */
  wrap(store: Store): Store {
    return Context.make(Journal, this.#counting(Context.get(store, Journal))).pipe(
      Context.add(Timers, this.#counting(Context.get(store, Timers))),
      Context.add(Leases, this.#counting(Context.get(store, Leases))),
    )
  }

  /** Waits until every request is answered, and what their answers, or the test before, set off is answered too. */
  readonly settled: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    const until = performance.now() + longestMillis
    for (let calm = 0; calm < calmTurns && performance.now() < until; calm = this.#count === 0 ? calm + 1 : 0)
      yield* this.#count === 0 ? turn : liveSleep(1)
  })

  #counting<S extends object>(service: S): S {
    return new Proxy(service, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== "function") return this.#counted(value)
        return (...parameters: ReadonlyArray<unknown>) => this.#counted(Reflect.apply(value, target, parameters))
      },
    })
  }

  #counted(value: unknown): unknown {
    if (!Effect.isEffect(value)) return value
    return Effect.suspend(() => {
      this.#count++
      return Effect.ensuring(
        value,
        Effect.sync(() => {
          this.#count--
        }),
      )
    })
  }
}
