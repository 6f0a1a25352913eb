/**
 * Keeps the tail of a journal up to date with what other processes write: they announce it on PostgreSQL, and are asked for
 * it everywhere. Begins with the first who waits, so that a process that only writes pays nothing.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import { EntryUnreadable } from "./DomainEventError.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import type { Tail } from "./Tail.ts"

export interface Following {
  /** Waits until there is something after a position. */
  readonly passed: (position: number) => Effect.Effect<void>
  /** There may be something new. */
  readonly poke: () => void
  /** Asks the store how far the journal has come. */
  readonly refresh: Effect.Effect<number, StoreError>
}

/** Whoever hears of other processes calls `poke`, until it is interrupted. */
export type Hearing = (poke: (position: number) => void) => Effect.Effect<never>

export const makeFollowing = (
  store: EventStore,
  tail: Tail,
  emptied: number,
  pollInterval: Duration.Input,
  hear: Hearing,
): Effect.Effect<Following, never, Scope.Scope> =>
  Effect.gen(function* () {
    const pokes = yield* Queue.dropping<void>(1)
    const scope = yield* Effect.scope
    const poke = () => void Queue.offerUnsafe(pokes, undefined)
    let knownEmptied = emptied
    let isFailing = false
    let isFollowing = false

    /** Reads what the waiting want to see, once for all of them. */
    const read = (position: number) =>
      Effect.gen(function* () {
        while (tail.isAwaited && tail.position < position) {
          const known = tail.position
          const page = yield* store.page(known)
          // An empty page is all there is up to the position: compaction or a reset deleted the rest.
          if (known === tail.position) tail.extend(page.at(-1)?.position ?? position, page)
        }
      })

    /** One at a time: a page that was read before the journal was emptied must not be kept after. */
    const renew = Semaphore.makeUnsafe(1).withPermit(
      Effect.gen(function* () {
        const { position, emptied } = yield* store.state
        if (emptied !== knownEmptied) tail.forget()
        knownEmptied = emptied
        // The waiting come upon the unreadable entry themselves, and fail with it.
        yield* Effect.catchIf(read(position), isUnreadable, () => Effect.void)
        tail.reach(position)
        return position
      }),
    )

    /** What a transaction has stored may still be undone: it is true for who is in it, and for nobody else. */
    const refresh = Effect.flatMap(store.isInTransaction, (isInTransaction) => (isInTransaction ? store.position : renew))

    /** Who waits while the store does not answer goes on waiting. */
    const look = Effect.matchEffect(renew, {
      onSuccess: () => {
        if (!isFailing) return Effect.void
        isFailing = false
        return Effect.logInfo(`journal ${store.journal} can be followed again`)
      },
      onFailure: (error) => {
        if (isFailing) return Effect.void
        isFailing = true
        return Effect.logWarning(`journal ${store.journal} cannot be followed at the moment`, error)
      },
    })

    const follow = Effect.forever(Effect.andThen(Effect.timeoutOption(Queue.take(pokes), pollInterval), look))

    const begin = Effect.suspend(() => {
      if (isFollowing) return Effect.void
      isFollowing = true
      poke()
      const heard = hear((position) => {
        if (position > tail.position) poke()
      })
      return Effect.andThen(Effect.forkIn(store.outside(follow), scope), Effect.forkIn(store.outside(heard), scope))
    })

    return { passed: (position) => Effect.andThen(begin, tail.passed(position)), poke, refresh }
  })

const isUnreadable = (error: StoreError): error is EntryUnreadable => error instanceof EntryUnreadable
