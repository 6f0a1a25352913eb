/**
 * Reads the events of a journal from any position, in the same order for all readers, then each new event that any process stores. A reader
 * resumes after the last position it has seen, as `Last-Event-ID` of server-sent events needs.
 *
 *     const feed = yield* EventFeed
 *     yield* Stream.runForEach(feed.stream({ after: 42 }), ({ position, entry }) => Console.log(position, entry.event))
 */

import { forkLoop } from "@detent/store"
import { RowProblem } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { EventJournalError } from "effect/eventlog/EventJournal"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { isSqlError } from "effect/sql/SqlError"
import type { StoreError } from "./EventStore.ts"
import { type EntryUnreadable, failed, PositionUnknown } from "./errors.ts"
import type { OpenJournal } from "./OpenJournal.ts"
import type { StoredEntry } from "./StoredEntry.ts"

/** The store fails, an entry is unreadable, or there is no such position. */
export type FeedError = EventJournalError | EntryUnreadable | PositionUnknown

export class EventFeed extends Context.Service<
  EventFeed,
  {
    /** The name of the journal. */
    readonly journal: string
    /** The position of the last event; 0 before the first. */
    readonly position: Effect.Effect<number, EventJournalError>
    /** A page of the events after a position, smaller if the events are large; empty if there are none. */
    readonly read: (options: { readonly after: number; readonly limit?: number }) => Effect.Effect<ReadonlyArray<StoredEntry>, FeedError>
    /**
     * All events after a position, then each new one. Default: from the beginning. It ends when the reader stops, and holds at most one
     * page in memory.
     */
    readonly stream: (options?: { readonly after?: number }) => Stream.Stream<StoredEntry, FeedError>
  }
>()("@detent/eventlog/EventFeed") {}

export const makeEventFeed = ({ store, tail, follower }: OpenJournal["Service"]): EventFeed["Service"] => {
  /** Waits for the next page after a position. */
  const next = (after: number) =>
    Effect.gen(function* () {
      let cursor = after
      while (true) {
        const known = tail.position
        const page = tail.after(cursor) ?? (yield* store.page(cursor))
        if (Arr.isReadonlyArrayNonEmpty(page)) return page
        // All events up to here were removed by compaction.
        cursor = Math.max(cursor, known)
        yield* follower.passed(cursor)
      }
    })

  /** Each reader refreshes the tail first, so that it reads no events of a journal that was emptied since. */
  const checked = (after: number) =>
    Effect.gen(function* () {
      const last = yield* follower.refresh
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
    position: Effect.mapError(follower.refresh, failed("position")),
    read: ({ after, limit = 500 }) => reading(Effect.flatMap(checked(after), (position) => store.page(position, limit))),
    stream: ({ after = 0 } = {}) => Stream.fromPull(reading(Effect.map(checked(after), (position) => reading(pulling(position))))),
  }
}

/** Maps failures of the store to Effect's journal error; unreadable entries and unknown positions stay as they are. */
const reading = <A, R>(effect: Effect.Effect<A, StoreError | PositionUnknown, R>): Effect.Effect<A, FeedError, R> =>
  Effect.mapError(effect, (error) => (isSqlError(error) || error instanceof RowProblem ? failed("read")(error) : error))

/** Calls an effect with each event after a position until the scope ends, and resumes after outages and failures. */
export const followFeed = (
  name: string,
  feed: EventFeed["Service"],
  after: number,
  handle: (stored: StoredEntry) => Effect.Effect<void>,
): Effect.Effect<void, never, Scope.Scope> => {
  let cursor = after
  const turn = (works: Effect.Effect<void>) =>
    Effect.gen(function* () {
      if ((yield* feed.position) <= cursor) yield* works
      yield* Stream.runForEach(feed.stream({ after: cursor }), (stored) =>
        Effect.flatMap(handle(stored), () => {
          cursor = stored.position
          return works
        }),
      )
    })
  return Effect.asVoid(forkLoop(name, turn))
}
