/**
 * One holder at a time per store: among the fibers of this process, and among all processes on the same database. The effect that
 * holds the lock is one transaction: its statements and the events it writes are stored together, or not at all when it fails.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import type { EventJournal } from "effect/unstable/eventlog/EventJournal"
import type { StoreId } from "effect/unstable/eventlog/EventLogMessage"
import { type EventStore, inside } from "./EventStore.ts"
import { failed } from "./errors.ts"

/** The locks that a fiber holds: it does not wait for itself. */
const Held = Context.Reference<ReadonlySet<string>>("@detent/durable/domain/StoreLock/Held", { defaultValue: () => new Set() })

interface Gate {
  readonly semaphore: Semaphore.Semaphore
  users: number
}

export const makeStoreLock = (store: EventStore): EventJournal["Service"]["withLock"] => {
  const gates = new Map<string, Gate>()

  const enter = (storeId: StoreId) =>
    Effect.sync(() => {
      const gate = gates.get(storeId) ?? { semaphore: Semaphore.makeUnsafe(1), users: 0 }
      gate.users++
      gates.set(storeId, gate)
      return gate
    })

  const leave = (storeId: StoreId, gate: Gate) =>
    Effect.sync(() => {
      gate.users--
      if (gate.users === 0) gates.delete(storeId)
    })

  /** Enters the gate first, so that waiting fibers need no connection. */
  const locked = <A, E, R>(storeId: StoreId, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      enter(storeId),
      ({ semaphore }) =>
        semaphore.withPermit(
          inside(
            effect,
            (effect) => store.exclusively(storeId, effect),
            // The type of the operation does not allow failures of the store.
            (error) => Effect.die(failed("withLock")(error)),
          ),
        ),
      (gate) => leave(storeId, gate),
    )

  return (storeId) => (effect) =>
    Effect.flatMap(Held, (held) => {
      const name = JSON.stringify([store.journal, storeId])
      if (held.has(name)) return effect
      return locked(storeId, Effect.provideService(effect, Held, new Set([...held, name])))
    })
}
