/** Effect's `EventJournal` on a journal in a database. It behaves as `EventJournal.makeMemory` does, and is durable. */
import type * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import { Entry, EventJournal, makeEntryIdUnsafe } from "effect/eventlog/EventJournal"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { layerListener } from "../postgres/PgListener.ts"
import { EventFeed, followFeed, makeEventFeed } from "./EventFeed.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import { failed } from "./errors.ts"
import { type JournalOptions, OpenJournal, openJournal } from "./OpenJournal.ts"
import { withUncommitted, writeFromRemote } from "./Replication.ts"
import { byCreation, checkEntry, type StoredEntry } from "./StoredEntry.ts"
import { makeStoreLock } from "./StoreLock.ts"

type Service = EventJournal["Service"]

export const makeJournal = (open: OpenJournal["Service"], feed: EventFeed["Service"]): Service => {
  const { store, writer, follower } = open
  return EventJournal.of({
    entries: Effect.mapError(allEntries(store), failed("entries")),
    write: ({ event, primaryKey, payload, effect }) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const entry = yield* newEntry(event, primaryKey, payload)
          const refused = checkEntry(store.journal, entry)
          if (refused !== undefined) return yield* failed("write")(refused)
          const value = yield* restore(effect(entry))
          yield* Effect.mapError(writer.write({ entry, origin: undefined }), failed("write"))
          return value
        }),
      ),
    entriesById: (ids) =>
      Effect.mapBoth(store.byIds(ids), {
        onFailure: failed("entriesById"),
        onSuccess: (found) => ids.map((id) => found.get(Hex.encode(id))),
      }),
    writeMany: ({ entries, effect }) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const made: Array<Entry> = []
          for (const { event, primaryKey, payload } of entries) {
            const entry = yield* newEntry(event, primaryKey, payload)
            const refused = checkEntry(store.journal, entry)
            if (refused !== undefined) return yield* failed("writeMany")(refused)
            made.push(entry)
          }
          const value = yield* restore(effect(made as unknown as Arr.NonEmptyReadonlyArray<Entry>))
          yield* Effect.mapError(writer.writeAll(made.map((entry) => ({ entry, origin: undefined }))), failed("writeMany"))
          return value
        }),
      ),
    writeRemoteAcks: ({ remoteId, acks, firstSequence }) =>
      Effect.gen(function* () {
        const { sequence } = yield* store.remote(remoteId)
        let next = Math.max(sequence, firstSequence ?? 0)
        for (const ack of acks.map((each) => each.sequence).sort((one, other) => one - other)) if (ack === next) next++
        if (next > sequence) yield* store.advanceRemote(remoteId, { sequence: next, sent: 0 })
      }).pipe(Effect.mapError(failed("writeRemoteAcks"))),
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

/** Returns an entry with the current time. */
export const newEntry = (event: string, primaryKey: string, payload: Uint8Array): Effect.Effect<Entry> =>
  Effect.map(
    Clock.currentTimeMillis,
    (msecs) => new Entry({ id: makeEntryIdUnsafe({ msecs }), event, primaryKey, payload }, { disableChecks: true }),
  )

/** By creation time: events of a remote may be older than those stored before them. */
const allEntries = (store: EventStore) =>
  Effect.gen(function* () {
    const entries: Array<Entry> = []
    for (let after = 0; ; ) {
      const page = yield* store.page(after)
      const last = page.at(-1)
      if (last === undefined) return byCreation(entries)
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
