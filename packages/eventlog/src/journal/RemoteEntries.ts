/** The entries of a journal as remotes see them: those that a remote sends, acknowledges or lacks. */

import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import type { Entry, EventJournal, EventJournalError, RemoteEntry, RemoteId } from "effect/eventlog/EventJournal"
import * as Option from "effect/Option"
import type { EventStore } from "./EventStore.ts"
import { failed } from "./errors.ts"
import type { OpenJournal } from "./OpenJournal.ts"
import { byId, checkEntry } from "./StoredEntry.ts"

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
