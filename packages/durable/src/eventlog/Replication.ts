/**
 * Exchanges events with a remote journal while it is registered: stores the events that the remote sends, and sends those that it lacks.
 */

import { forkLoop } from "@detent/store"
import { backgroundLoop } from "@detent/store/internal"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import type { Entry, EventJournal, EventJournalError, RemoteEntry, RemoteId } from "effect/eventlog/EventJournal"
import type { Identity } from "effect/eventlog/EventLog"
import type { StoreId } from "effect/eventlog/EventLogMessage"
import type { EventLogRemote } from "effect/eventlog/EventLogRemote"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type { Compaction } from "./Compaction.ts"
import type { EventHandlers } from "./EventHandlers.ts"
import type { EventStore } from "./EventStore.ts"
import { failed } from "./errors.ts"
import type { OpenJournal } from "./OpenJournal.ts"
import type { Replay } from "./Replay.ts"
import { byId, checkEntry } from "./StoredEntry.ts"

export interface Replication {
  readonly open: OpenJournal["Service"]
  readonly handlers: EventHandlers
  readonly replay: Replay | undefined
  readonly compaction: Compaction
  readonly identity: Identity["Service"] | undefined
  readonly storeId: StoreId
}

export const replicate =
  ({ open, handlers, replay, compaction, identity, storeId }: Replication) =>
  (remote: EventLogRemote["Service"]): Effect.Effect<void> =>
    Effect.scoped(
      Effect.gen(function* () {
        if (identity === undefined)
          return yield* Effect.logError(`journal ${open.store.journal} exchanges nothing with a remote: provide EventLog.Identity`)
        const { store, tail, follower } = open

        /** Without a replay, the handlers run while the event is stored. With one, the replay runs them. */
        const handle = ({ entry, conflicts }: { readonly entry: Entry; readonly conflicts: ReadonlyArray<Entry> }) =>
          replay !== undefined || !handlers.has(entry.event)
            ? Effect.void
            : Effect.mapError(
                Effect.flatMap(handlers.decode(entry), (payload) => handlers.handle({ entry, payload, conflicts })),
                failed("writeFromRemote"),
              )

        const effect: FromRemote["effect"] = (entries) => Effect.forEach(entries, handle, { discard: true })

        const take = (remoteId: RemoteId, entries: ReadonlyArray<RemoteEntry>) =>
          Effect.gen(function* () {
            const { stored } = yield* writeFromRemote(open, { remoteId, entries, effect })
            if (yield* store.transaction(Effect.andThen(store.lock, compaction.compact(stored)))) tail.forget()
            if (replay !== undefined) yield* replay.catchUp
          })

        // The remote sends events that could not be stored again with the next connection: until they are stored, the loop does not count
        // as working.
        let isRefusing = false
        const receive = (works: Effect.Effect<void>) =>
          Effect.scoped(
            Effect.gen(function* () {
              const { sequence } = yield* store.remote(remote.id)
              const arriving = yield* remote.changes({ identity, storeId, startSequence: sequence, knownEntries: entriesById(store) })
              if (!isRefusing) yield* works
              for (;;) {
                const entries = yield* Queue.takeAll(arriving)
                isRefusing = true
                yield* take(remote.id, entries)
                isRefusing = false
                yield* works
              }
            }),
          )

        /** A remote that acknowledges events does not send them back. */
        const sendMissing = withUncommitted(store, remote.id, (entries) =>
          Effect.flatMap(remote.write({ identity, storeId, entries }), (acks) =>
            acks === undefined ? Effect.void : writeRemoteAcks(store, { remoteId: remote.id, acks, firstSequence: remote.firstSequence }),
          ),
        )

        const send = (works: Effect.Effect<void>) =>
          Effect.gen(function* () {
            const position = tail.position
            yield* sendMissing
            yield* works
            yield* follower.passed(position)
          })

        const name = `journal ${store.journal} with remote ${Hex.encode(remote.id).slice(0, 8)}`
        // The last events are sent before the scope ends, if the remote answers within a second.
        yield* Effect.addFinalizer(() => Effect.ignore(Effect.timeout(sendMissing, "1 second")))
        yield* forkLoop(`receiving of ${name}`, receive)
        return yield* backgroundLoop(`sending of ${name}`, send)
      }),
    )

type FromRemote = Parameters<EventJournal["Service"]["writeFromRemote"]>[0]
type RemoteAcks = Parameters<EventJournal["Service"]["writeRemoteAcks"]>[0]

/** One transaction: the events, the writes of their effects in the same database, and the sequence up to which the remote was read. */
export const writeFromRemote = ({ store, writer, ids }: OpenJournal["Service"], { remoteId, entries, compact, effect }: FromRemote) =>
  Effect.gen(function* () {
    for (const { entry } of entries) {
      const refused = checkEntry(store.journal, entry)
      if (refused !== undefined) return yield* refused
    }
    return yield* store.transaction(
      Effect.gen(function* () {
        const position = yield* store.lock
        const known = yield* store.storedIds(entries.map(({ entry }) => entry.id))
        const { fresh, duplicates } = separate(entries, known)
        const handled = compact === undefined ? fresh.map(({ entry }) => entry) : yield* compact(fresh)
        const conflicting: Array<{ readonly entry: Entry; readonly conflicts: ReadonlyArray<Entry> }> = []
        for (const entry of byId(handled)) conflicting.push({ entry, conflicts: yield* store.conflicts(entry, position + 1) })
        if (conflicting.length > 0) yield* effect(conflicting)
        const foreign = fresh.map(({ entry }) => ({ entry, origin: remoteId }))
        const stored = yield* writer.append(position, foreign)
        const sequence = entries.reduce((next, { remoteSequence }) => Math.max(next, remoteSequence + 1), 0)
        yield* store.advanceRemote(remoteId, { sequence, sent: 0 })
        for (const { entry } of fresh) ids.observe(entry.id)
        return { stored, duplicateEntries: duplicates }
      }),
    )
  })

/** Stored entries by their ids, in the order of the ids. */
export const entriesById =
  (store: EventStore): EventJournal["Service"]["entriesById"] =>
  (ids) =>
    Effect.mapBoth(store.byIds(ids), {
      onFailure: failed("entriesById"),
      onSuccess: (found) => ids.map((id) => found.get(Hex.encode(id))),
    })

/** The remote is read on from the first sequence that it has not acknowledged. */
export const writeRemoteAcks = (store: EventStore, { remoteId, acks, firstSequence = 0 }: RemoteAcks) =>
  Effect.gen(function* () {
    const { sequence } = yield* store.remote(remoteId)
    let next = Math.max(sequence, firstSequence)
    const acknowledged = new Set(acks.map((ack) => ack.sequence))
    while (acknowledged.has(next)) next++
    if (next > sequence) yield* store.advanceRemote(remoteId, { sequence: next, sent: 0 })
  })

/** Stored events are duplicates. Of an event that is twice in the batch, the first is taken. */
const separate = (entries: ReadonlyArray<RemoteEntry>, known: ReadonlySet<string>) => {
  const fresh = new Map<string, RemoteEntry>()
  const duplicates: Array<Entry> = []
  for (const one of entries) {
    const id = Hex.encode(one.entry.id)
    if (known.has(id)) duplicates.push(one.entry)
    else if (!fresh.has(id)) fresh.set(id, one)
  }
  return { fresh: [...fresh.values()], duplicates }
}

/**
 * Calls an effect with the events that a remote lacks, page by page, so that memory stays bounded; returns the result of the last page. A
 * page counts as sent when its effect has succeeded. Positions become visible in order, so no event appears later before one that was sent.
 */
export const withUncommitted = <A, E, R>(
  store: EventStore,
  remoteId: RemoteId,
  f: (entries: Arr.NonEmptyReadonlyArray<Entry>) => Effect.Effect<A, E, R>,
): Effect.Effect<Option.Option<A>, EventJournalError | E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      let result = Option.none<A>()
      const last = yield* failingAsJournal(restore(store.position))
      let { sent } = yield* failingAsJournal(restore(store.remote(remoteId)))
      while (true) {
        const page = yield* failingAsJournal(restore(store.pageFor(remoteId, sent)))
        const entries = byId(page.map(({ entry }) => entry))
        if (!Arr.isReadonlyArrayNonEmpty(entries)) {
          // The rest up to here came from the remote itself, and is not read again.
          if (last > sent) yield* failingAsJournal(store.advanceRemote(remoteId, { sequence: 0, sent: last }))
          return result
        }
        result = Option.some(yield* restore(f(entries)))
        sent = page.at(-1)?.position ?? sent
        yield* failingAsJournal(store.advanceRemote(remoteId, { sequence: 0, sent }))
      }
    }),
  )

const failingAsJournal = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.mapError(effect, failed("withRemoteUncommited"))
