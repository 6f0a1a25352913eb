/**
 * One holder at a time per store: among the fibers of this process, and among all processes on the same database. The effect that
 * holds the lock is one transaction: its statements and the events it writes are stored together, or not at all when it fails.
 */

import { Turns } from "@detent/store/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { EventJournal } from "effect/eventlog/EventJournal"
import type { StoreId } from "effect/eventlog/EventLogMessage"
import { type EventStore, inside } from "./EventStore.ts"
import { failed } from "./errors.ts"

/** The locks that a fiber holds: it does not wait for itself. */
const Held = Context.Reference<ReadonlySet<string>>("@detent/eventlog/StoreLock/Held", { defaultValue: () => new Set() })

export const makeStoreLock = (store: EventStore): EventJournal["Service"]["withLock"] => {
  const turns = new Turns()

  /** Waits for its turn first, so that waiting fibers need no connection. */
  const locked = <A, E, R>(storeId: StoreId, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    turns.alone(
      storeId,
      inside(
        effect,
        (effect) => store.exclusively(storeId, effect),
        // The type of the operation does not allow failures of the store.
        (error) => Effect.die(failed("withLock")(error)),
      ),
    )

  return (storeId) => (effect) =>
    Effect.flatMap(Held, (held) => {
      const name = JSON.stringify([store.journal, storeId])
      if (held.has(name)) return effect
      return locked(storeId, Effect.provideService(effect, Held, new Set([...held, name])))
    })
}
