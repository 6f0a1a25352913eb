/** The tools with which the rules of commands are tested. */
import type { Vitest } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import {
  type ClaimedCommand,
  Commands,
  type Finished,
  type NewCommand,
  type StoredCommand,
  type Verdict,
} from "../src/contract/Commands.ts"
import type { Journal } from "../src/contract/Journal.ts"
import type { Leases } from "../src/contract/Leases.ts"
import type { Timers } from "../src/contract/Timers.ts"

/** A store under test; `R` are the services of its hooks, such as its SQL client. */
export type CommandStoreLayer<R> = Layer.Layer<Journal | Timers | Leases | Commands | R, unknown>

export interface CommandHooks<R> {
  /** Runs an effect in a transaction of the caller. A rule that needs one is not tested without it. */
  readonly inTransaction?: <A, E, R2>(effect: Effect.Effect<A, E, R2>) => Effect.Effect<A, unknown, R | R2>
}

export type StoreServices = Journal | Timers | Leases | Commands

/** The tests of one part of the rules. */
export type Topic = <R>(it: Vitest.MethodsNonLive<StoreServices | R>, hooks: CommandHooks<R>) => void

/** A unique name: tests share a store, and own their data. */
export const freshName = Effect.map(Random.nextIntBetween(0, 2 ** 40), (number) => `q${number.toString(36)}`)

export const command = (queue: string, key: string, fields: Partial<NewCommand> = {}): NewCommand => ({
  key: `${queue}-${key}`,
  queue,
  slot: "work",
  parameters: JSON.stringify({ key }),
  instance: undefined,
  priority: 0,
  ordered: false,
  runAt: undefined,
  delayMillis: 0,
  ...fields,
})

/** The part of a key that {@link command} was given. */
export const nameOf = ({ queue, key }: { readonly queue: string; readonly key: string }): string => key.slice(queue.length + 1)

export const enqueue = (...commands: ReadonlyArray<NewCommand>) => Effect.flatMap(Commands, (service) => service.enqueue(commands))

export interface Claiming {
  readonly worker?: string
  readonly limit?: number
  readonly millis?: number
}

export const claim = (queue: string, { worker = "worker", limit = 10, millis = 60_000 }: Claiming = {}) =>
  Effect.flatMap(Commands, (service) =>
    Effect.map(service.exchange({ worker, finished: [], wants: [{ queue, limit }], claimMillis: millis }), ({ claimed }) => claimed),
  )

export const claimNames = (queue: string, claiming?: Claiming) => Effect.map(claim(queue, claiming), (claimed) => claimed.map(nameOf))

/** Whether the store recorded the verdict on each. */
export const finish = (verdict: Verdict, claimed: ReadonlyArray<ClaimedCommand>, worker = "worker") =>
  Effect.flatMap(Commands, (service) => {
    const finished = claimed.map(({ number, claim }): Finished => ({ number, claim, verdict }))
    return Effect.map(service.exchange({ worker, finished, wants: [], claimMillis: 1000 }), ({ refused }) =>
      claimed.map(({ number }) => !refused.includes(number)),
    )
  })

export const completed: Verdict = { _tag: "Completed" }

export const stored = (key: string): Effect.Effect<StoredCommand, unknown, Commands> =>
  Effect.flatMap(Commands, (service) => Effect.map(service.get(key), Option.getOrThrow))

/** How many of a queue are in each status. */
export const countsOf = (queue: string) =>
  Effect.flatMap(Commands, (service) =>
    Effect.map(service.counts, (counts) =>
      Object.fromEntries(counts.filter((count) => count.queue === queue).map(({ status, count }) => [status, count])),
    ),
  )

/** For a test that needs the counters, the table or the workers of the store for itself. */
export const alone = { concurrent: false }

/** Counts apart from the tests that run at the same time. */
export const withOwnMetrics = <A, E, R>(test: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.provideService(test, Metric.MetricRegistry, new Map()))

/** Waits until a condition holds; fails the test where it never does. */
export const eventually = <A, E, R>(read: Effect.Effect<A, E, R>, holds: (value: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    for (let attempt = 0; ; attempt++) {
      const value = yield* read
      if (holds(value)) return value
      if (attempt === 2000) return yield* Effect.die(new Error(`the condition never held; last seen: ${JSON.stringify(value)}`))
      yield* Effect.sleep(5)
    }
  })
