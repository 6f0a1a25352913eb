/**
 * A background loop repeats one turn for as long as its scope lasts. A failure or a defect ends the turn, not the loop: the loop
 * logs one warning per outage, backs off and tries again. While its turns fail it is listed as down, so that readiness can
 * report it.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { faultOf, problemOf } from "./problemOf.ts"

/** A loop whose last turn failed. */
export interface LoopOutage {
  readonly name: string
  /** When its first turn of this outage failed, in milliseconds since 1970. */
  readonly since: number
  readonly failures: number
  readonly problem: string
}

/** The loops of one process that are down. Store layers provide the service, so that all loops on a store report to the same one. */
export interface LoopHealthService {
  readonly failed: (name: string, problem: string, at: number) => void
  readonly succeeded: (name: string) => void
  readonly outages: () => ReadonlyArray<LoopOutage>
}

export class LoopHealth extends Context.Service<LoopHealth, LoopHealthService>()("@detent/durable/LoopHealth") {
  static make(): LoopHealthService {
    const outages = new Map<string, LoopOutage>()
    return {
      failed: (name, problem, at) => {
        const known = outages.get(name)
        outages.set(name, { name, since: known?.since ?? at, failures: (known?.failures ?? 0) + 1, problem })
      },
      succeeded: (name) => {
        outages.delete(name)
      },
      outages: () => [...outages.values()],
    }
  }
}

const firstBackoffMillis = 250
const longestBackoffMillis = 10_000

/** One turn of a loop. A turn that does not end gets the effect `works`, and runs it as soon as it works: that ends the outage. */
export type Turn<E, R> = Effect.Effect<unknown, E, R> | ((works: Effect.Effect<void>) => Effect.Effect<unknown, E, R>)

/**
 * Repeats a turn without end. The turn waits for its own next time; the loop waits only after a failure, for at most
 * `longestBackoff` milliseconds. Default: 10 seconds.
 */
export const backgroundLoop = <E, R>(
  name: string,
  turn: Turn<E, R>,
  longestBackoff = longestBackoffMillis,
): Effect.Effect<never, never, R> =>
  Effect.gen(function* () {
    const health = Option.getOrUndefined(yield* Effect.serviceOption(LoopHealth))
    let failures = 0
    const works = Effect.suspend(() => {
      const before = failures
      failures = 0
      health?.succeeded(name)
      return before === 0 ? Effect.void : Effect.logInfo(`${name} works again after ${before} failed attempts`)
    })
    const oneTurn = typeof turn === "function" ? turn(works) : turn
    for (;;) {
      const exit = yield* Effect.exit(oneTurn)
      if (exit._tag === "Success") {
        yield* works
        continue
      }
      // Only the end of the scope interrupts the loop itself.
      if (Cause.hasInterruptsOnly(exit.cause)) yield* Effect.yieldNow
      failures++
      const problem = problemOf(exit.cause)
      health?.failed(name, problem, yield* Clock.currentTimeMillis)
      if (failures === 1) yield* logOutage(name, problem, exit.cause)
      const backoff = Math.min(firstBackoffMillis * 2 ** Math.min(failures - 1, 10), longestBackoff)
      yield* Effect.sleep(backoff * (0.5 + 0.5 * (yield* Random.next)))
    }
  })

/** An outage of the store is logged in one line. A defect is a fault of the program, so the warning includes its stack frames. */
const logOutage = (name: string, problem: string, cause: Cause.Cause<unknown>): Effect.Effect<void> => {
  const line = `${name} failed and is tried again until it succeeds`
  if (Cause.hasDies(cause)) return Effect.logWarning(`${line}: ${faultOf(cause)}`)
  return Effect.andThen(Effect.logWarning(`${line}: ${problem}`), Effect.logDebug(`${name} failed: ${faultOf(cause)}`))
}

/** Starts a loop that ends with the scope, or when its fiber is interrupted. When it ends, it is no longer listed as down. */
export const forkLoop = <E, R>(
  name: string,
  turn: Turn<E, R>,
  longestBackoff = longestBackoffMillis,
): Effect.Effect<Fiber.Fiber<never>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const health = Option.getOrUndefined(yield* Effect.serviceOption(LoopHealth))
    const loop = Effect.ensuring(
      backgroundLoop(name, turn, longestBackoff),
      Effect.sync(() => health?.succeeded(name)),
    )
    return yield* Effect.forkScoped(loop)
  })
