/** Effect's `EventJournal` on a journal in a database. It behaves as `EventJournal.makeMemory` does, and is durable. */

import { layerListener } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Entry, EventJournal } from "effect/eventlog/EventJournal"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { EventFeed, followFeed, makeEventFeed } from "./EventFeed.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import { type EntryRefused, failed } from "./errors.ts"
import { type JournalOptions, OpenJournal, openJournal } from "./OpenJournal.ts"
import { entriesById, withUncommitted, writeFromRemote, writeRemoteAcks } from "./RemoteEntries.ts"
import { byId, checkEntry, type StoredEntry } from "./StoredEntry.ts"
import { makeStoreLock } from "./StoreLock.ts"

type Service = EventJournal["Service"]

export const makeJournal = (open: OpenJournal["Service"], feed: EventFeed["Service"]): Service => {
  const { store, writer, follower } = open
  return EventJournal.of({
    entries: Effect.mapError(allEntries(store), failed("entries")),
    entriesById: entriesById(store),
    write: ({ event, primaryKey, payload, effect }) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const entry = yield* Effect.mapError(newEntry(open, event, primaryKey, payload), failed("write"))
          const value = yield* restore(effect(entry))
          yield* Effect.mapError(writer.write({ entry, origin: undefined }), failed("write"))
          return value
        }),
      ),
    writeMany: ({ entries, effect }) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const written = yield* Effect.forEach(entries, ({ event, primaryKey, payload }) =>
            Effect.mapError(newEntry(open, event, primaryKey, payload), failed("writeMany")),
          )
          const value = yield* restore(effect(written))
          yield* Effect.mapError(writer.writeAll(written.map((entry) => ({ entry, origin: undefined }))), failed("writeMany"))
          return value
        }),
      ),
    writeRemoteAcks: (options) => Effect.mapError(writeRemoteAcks(store, options), failed("writeRemoteAcks")),
    writeFromRemote: (options) =>
      Effect.mapBoth(writeFromRemote(open, options), {
        onFailure: failed("writeFromRemote"),
        onSuccess: ({ duplicateEntries }) => ({ duplicateEntries }),
      }),
    withRemoteUncommited: (remoteId, f) => withUncommitted(store, remoteId, f),
    nextRemoteSequence: (remoteId) =>
      Effect.mapBoth(store.remote(remoteId), { onFailure: failed("nextRemoteSequence"), onSuccess: ({ sequence }) => sequence }),
    changes: changes(open, feed),
    destroy: Effect.mapError(Effect.andThen(store.destroy, follower.refresh), failed("destroy")).pipe(Effect.asVoid),
    withLock: makeStoreLock(store),
  })
}

/** The journal and its feed, and the open journal that both share. */
export const layerOpen = (
  options: JournalOptions,
): Layer.Layer<EventJournal | EventFeed | OpenJournal, MigrationError | SqlError | StoreError, SqlClient> =>
  Layer.effectContext(
    Effect.map(openJournal(options), (open) => {
      const feed = makeEventFeed(open)
      return Context.make(OpenJournal, open).pipe(Context.add(EventFeed, feed), Context.add(EventJournal, makeJournal(open, feed)))
    }),
  ).pipe(Layer.provide(layerListener))

/** Returns an entry that is later than all others of the journal that this process knows. Fails if it cannot be stored. */
export const newEntry = (
  { store, ids }: OpenJournal["Service"],
  event: string,
  primaryKey: string,
  payload: Uint8Array,
): Effect.Effect<Entry, EntryRefused> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const entry = new Entry({ id: ids.next(now), event, primaryKey, payload }, { disableChecks: true })
    const refused = checkEntry(store.journal, entry)
    return refused === undefined ? Effect.succeed(entry) : Effect.fail(refused)
  })

const allEntries = (store: EventStore) =>
  Effect.gen(function* () {
    const entries: Array<Entry> = []
    for (let after = 0; ; ) {
      const page = yield* store.page(after)
      const last = page.at(-1)
      if (last === undefined) return byId(entries)
      for (const { entry } of page) entries.push(entry)
      after = last.position
    }
  })

/** New entries of this process and of other processes on the same database. A slow subscriber delays only itself. */
const changes = ({ store, tail, follower }: OpenJournal["Service"], feed: EventFeed["Service"]): Service["changes"] => {
  let subscribers = 0
  return Effect.gen(function* () {
    const known = yield* Effect.catch(follower.refresh, (error) =>
      Effect.as(
        Effect.logWarning(`changes begin at the last position known, because the store does not answer: ${error.message}`),
        tail.position,
      ),
    )
    const pubsub = yield* PubSub.bounded<Entry>(256)
    const subscription = yield* PubSub.subscribe(pubsub)
    const publish = ({ entry, origin }: StoredEntry) => (origin === undefined ? Effect.asVoid(PubSub.publish(pubsub, entry)) : Effect.void)
    // The subscriber may be in a transaction, which the loop outlives.
    yield* store.outside(followFeed(`changes ${++subscribers} of journal ${store.journal}`, feed, known, publish))
    return subscription
  })
}
