/**
 * Keeps the tail of a journal up to date with the events of other processes: PostgreSQL announces them, and every store is polled as well.
 * It begins with the first waiting reader, so that a process that only writes has no cost.
 */

import { forkLoop } from "@detent/store"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type { EntryIds } from "./EntryIds.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import { EntryUnreadable } from "./errors.ts"
import type { Tail } from "./Tail.ts"

export interface JournalFollower {
  /** Waits until there is an event after a position. */
  readonly passed: (position: number) => Effect.Effect<void>
  /** Reads the store soon, because there may be new events. */
  readonly poke: () => void
  /** Reads the last position from the store. */
  readonly refresh: Effect.Effect<number, StoreError>
}

/** Passes on the positions that other processes announce, until the returned function is called. */
export type FollowAnnouncements = (follower: {
  readonly announced: (position: number) => void
  /** Called whenever announcements begin to arrive: earlier ones are lost. */
  readonly connected: () => void
}) => () => void

/** The longest backoff in milliseconds: readers are delayed by no more than this after an outage of the store. */
const longestBackoff = 1_000

export const makeFollower = (
  store: EventStore,
  tail: Tail,
  ids: EntryIds,
  emptied: number,
  pollInterval: Duration.Input,
  announcements: FollowAnnouncements | undefined,
): Effect.Effect<JournalFollower, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pokes = yield* Queue.dropping<void>(1)
    const poke = () => void Queue.offerUnsafe(pokes, undefined)
    const begun = Latch.makeUnsafe(false)
    let knownEmptied = emptied

    /** Reads the events that readers wait for, once for all of them. */
    const read = (position: number) =>
      Effect.gen(function* () {
        while (tail.isAwaited && tail.position < position) {
          const known = tail.position
          const page = yield* store.page(known)
          for (const { entry } of page) ids.observe(entry.id)
          // An empty page means that compaction or a reset deleted all events up to the position.
          if (known === tail.position) tail.extend(page.at(-1)?.position ?? position, page)
        }
      })

    /** One at a time: a page that was read before the journal was emptied must not be kept afterwards. */
    const renew = Semaphore.makeUnsafe(1).withPermit(
      Effect.gen(function* () {
        const { position, emptied } = yield* store.state
        if (emptied !== knownEmptied) tail.forget()
        knownEmptied = emptied
        // Each reader reads the unreadable entry itself, and fails with it.
        yield* Effect.catchIf(read(position), isUnreadable, () => Effect.void)
        tail.reach(position)
        return position
      }),
    )

    /** The position inside a transaction may still be rolled back: only the fiber inside it sees that position. */
    const refresh = Effect.flatMap(store.isInTransaction, (isInTransaction) => (isInTransaction ? store.position : renew))

    const follow = Effect.gen(function* () {
      yield* begun.await
      yield* Effect.timeoutOption(Queue.take(pokes), pollInterval)
      yield* renew
    })
    yield* forkLoop(`follower of journal ${store.journal}`, follow, longestBackoff)

    let unsubscribe: (() => void) | undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => unsubscribe?.()))
    const announced = (position: number) => {
      if (position > tail.position) poke()
    }

    const begin = Effect.sync(() => {
      if (begun.isOpen()) return
      begun.openUnsafe()
      poke()
      unsubscribe = announcements?.({ announced, connected: poke })
    })

    return { passed: (position) => Effect.andThen(begin, tail.passed(position)), poke, refresh }
  })

const isUnreadable = (error: StoreError): error is EntryUnreadable => error instanceof EntryUnreadable
