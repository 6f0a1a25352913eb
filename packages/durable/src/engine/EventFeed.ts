/**
 * Reads the events of a journal in one order for all readers, from any position on, and goes on with new ones as they are
 * stored, by whichever process. Who has the last position it has seen can go on after it: that is what `Last-Event-ID` of
 * server-sent events needs.
 *
 *     const feed = yield* EventFeed
 *     yield* Stream.runForEach(feed.stream({ after: 42 }), ({ position, entry }) => Console.log(position, entry.event))
 */
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { EventJournalError } from "effect/unstable/eventlog/EventJournal"
import { isSqlError } from "effect/unstable/sql/SqlError"
import { type EntryUnreadable, failed, PositionUnknown } from "../eventlog/DomainEventError.ts"
import type { StoreError } from "../eventlog/EventStore.ts"
import type { OpenJournal } from "../eventlog/OpenJournal.ts"
import type { StoredEntry } from "../eventlog/StoredEntry.ts"
import { RowProblem } from "../store/StoreFailure.ts"

/** The store fails, an entry makes no sense, or there is no such position. */
export type FeedError = EventJournalError | EntryUnreadable | PositionUnknown

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /** The name of the journal. */
    readonly journal: string
    /** The position of the last event; 0 before the first. */
    readonly position: Effect.Effect<number, EventJournalError>
    /** Some of the events after a position, fewer when they are large; empty when there are none. */
    readonly read: (options: { readonly after: number; readonly limit?: number }) => Effect.Effect<ReadonlyArray<StoredEntry>, FeedError>
    /**
     * All events after a position, from the beginning unless told, then each new one. It ends with the reader, and holds only a
     * page of them in memory however many there are.
     */
    readonly stream: (options?: { readonly after?: number }) => Stream.Stream<StoredEntry, FeedError>
  }
>()("@detent/durable/EventFeed") {}

export const makeEventFeed = ({ store, tail, following }: OpenJournal["Service"]): EventFeed["Service"] => {
  /** Waits for the next page after a position. */
  const next = (after: number) =>
    Effect.gen(function* () {
      let cursor = after
      while (true) {
        const known = tail.position
        const page = tail.after(cursor) ?? (yield* store.page(cursor))
        if (Arr.isReadonlyArrayNonEmpty(page)) return page
        // Nothing is left of what was stored up to here.
        cursor = Math.max(cursor, known)
        yield* following.passed(cursor)
      }
    })

  /** Asked for anew by every reader: whatever it reads first, it is not from before the journal was emptied. */
  const checked = (after: number) =>
    Effect.gen(function* () {
      const last = yield* following.refresh
      if (Number.isSafeInteger(after) && after >= 0 && after <= last) return after
      return yield* new PositionUnknown({ journal: store.journal, after, last })
    })

  const pulling = (after: number) => {
    let cursor = after
    return Effect.tap(
      Effect.suspend(() => next(cursor)),
      (page) =>
        Effect.sync(() => {
          cursor = page[page.length - 1]?.position ?? cursor
        }),
    )
  }

  return {
    journal: store.journal,
    position: Effect.mapError(following.refresh, failed("position")),
    read: ({ after, limit = 500 }) => reading(Effect.flatMap(checked(after), (position) => store.page(position, limit))),
    stream: ({ after = 0 } = {}) => Stream.fromPull(reading(Effect.map(checked(after), (position) => reading(pulling(position))))),
  }
}

/** What the store is to blame for, as Effect's journal tells it; what is wrong with an entry or a position, as it is. */
const reading = <A, R>(effect: Effect.Effect<A, StoreError | PositionUnknown, R>): Effect.Effect<A, FeedError, R> =>
  Effect.mapError(effect, (error) => (isSqlError(error) || error instanceof RowProblem ? failed("read")(error) : error))
