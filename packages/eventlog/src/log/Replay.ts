/**
 * Replays stored events that the handlers have not handled yet, in the order of their positions: at the start, and when other processes
 * have written events.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import type { EntryId } from "effect/eventlog/EventJournal"
import * as Semaphore from "effect/Semaphore"
import type { SqlError } from "effect/sql/SqlError"
import type { EventStore, StoreError } from "../journal/EventStore.ts"
import { ReplayFailed } from "../journal/errors.ts"
import { isTransient } from "../journal/retryTransient.ts"
import type { StoredEntry } from "../journal/StoredEntry.ts"
import type { EventHandlers } from "./EventHandlers.ts"
import type { ProjectionRefused, ProjectionTables } from "./Projection.ts"

/** The position up to which the handlers have handled all events. */
export interface Progress {
  readonly name: string
  /** Whether the database stores it with the tables that the handlers fill. */
  readonly isStored: boolean
  /** Returns the position; no other replay advances until the current transaction ends. */
  readonly lock: Effect.Effect<number, StoreError | ProjectionRefused>
  /** Stores the position inside that transaction. */
  readonly advance: (position: number) => Effect.Effect<unknown, StoreError>
  /** Called when the transaction was committed. */
  readonly reached: (position: number) => void
  readonly isBehind: (position: number) => Effect.Effect<boolean, StoreError>
  /** Called when an event was handled inside a transaction of the application that has not ended. */
  readonly handled: (id: EntryId) => void
  /** Whether the event was handled that way. */
  readonly wasHandled: (id: EntryId) => boolean
}

export const storedProgress = (name: string, { lock, advance, position }: ProjectionTables): Progress => {
  // Positions that this process has stored are not read again.
  let known = 0
  const reached = (position: number) => {
    known = Math.max(known, position)
  }
  return {
    name,
    isStored: true,
    lock,
    advance,
    reached,
    isBehind: (last) => {
      if (known >= last) return Effect.succeed(false)
      return Effect.map(position, (stored) => {
        reached(stored)
        return stored < last
      })
    },
    handled: () => undefined,
    wasHandled: () => false,
  }
}

/** For handlers that keep their results in memory: the position begins at 0 when the process starts. */
export const volatileProgress = (): Progress => {
  let current = 0
  const handled = new Set<string>()
  return {
    name: "in memory",
    isStored: false,
    lock: Effect.sync(() => current),
    advance: () => Effect.void,
    reached: (position) => {
      current = Math.max(current, position)
    },
    isBehind: (last) => Effect.sync(() => current < last),
    handled: (id) => handled.add(Hex.encode(id)),
    wasHandled: (id) => handled.delete(Hex.encode(id)),
  }
}

export type ReplayError = StoreError | ReplayFailed | ProjectionRefused

export interface Replay {
  readonly progress: Progress
  /** One at a time in this process. */
  readonly alone: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Runs inside a transaction that holds the journal's lock. Replays at most one page towards the last position and returns the position of
   * the handlers. A caller that gets less than the last position has to try again.
   */
  readonly approach: (position: number) => Effect.Effect<number, ReplayError>
  /** Replays to the end, page by page, each in a transaction of its own. */
  readonly catchUp: Effect.Effect<void, ReplayError>
}

export const makeReplay = (store: EventStore, handlers: EventHandlers, progress: Progress): Replay => {
  const semaphore = Semaphore.makeUnsafe(1)
  const alone = semaphore.withPermit

  const handle = (stored: StoredEntry): Effect.Effect<void, ReplayError> =>
    Effect.gen(function* () {
      const { position, entry, origin } = stored
      if (progress.wasHandled(entry.id)) return
      const stop = (problem: string, cause?: unknown) =>
        new ReplayFailed({
          journal: store.journal,
          projection: progress.name,
          position,
          event: entry.event,
          problem,
          ...(cause === undefined ? {} : { cause }),
        })
      if (!handlers.has(entry.event)) return yield* stop("no handler is registered for it")
      const payload = yield* Effect.mapError(handlers.decode(entry), (problem) => stop(`its payload cannot be decoded: ${problem}`))
      const conflicts = origin === undefined ? [] : yield* store.conflicts(entry, position)
      yield* Effect.catchCause(handlers.handle({ entry, payload, conflicts }), (cause): Effect.Effect<never, ReplayError> => {
        const passing = transientError(cause)
        if (passing !== undefined) return Effect.fail(passing)
        if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
        return Effect.fail(stop("its handler failed", Cause.squash(cause)))
      })
    })

  /** Returns the position of the handlers afterwards: the end of the page, or the last position if no event remains before it. */
  const handlePage = (after: number, last: number) =>
    Effect.gen(function* () {
      const page = yield* store.page(after)
      yield* Effect.forEach(page, handle, { discard: true })
      return page.at(-1)?.position ?? Math.max(after, last)
    })

  const approach = (position: number) =>
    Effect.gen(function* () {
      const current = yield* progress.lock
      if (current >= position) return current
      const reached = yield* handlePage(current, position)
      yield* progress.advance(reached)
      return reached
    })

  const step = Effect.gen(function* () {
    const last = yield* store.position
    const { current, reached } = yield* store.transaction(
      Effect.gen(function* () {
        const current = yield* progress.lock
        const reached = yield* handlePage(current, last)
        if (reached > current) yield* progress.advance(reached)
        return { current, reached }
      }),
    )
    progress.reached(reached)
    return reached === current
  })

  const catchUp = Effect.gen(function* () {
    while (true) if (yield* alone(step)) return
  })

  return { progress, alone, approach, catchUp }
}

/** Returns a transient failure of the database: a deadlock or a lost connection. */
export const transientError = (cause: Cause.Cause<unknown>): SqlError | undefined =>
  cause.reasons
    .map((reason) => (reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined))
    .find(isTransient)
