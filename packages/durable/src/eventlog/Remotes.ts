/** The exchange of events with journals elsewhere: what came from them, and what they have not got yet. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import type { Entry, EventJournal, EventJournalError, RemoteEntry, RemoteId } from "effect/unstable/eventlog/EventJournal"
import { failed } from "./DomainEventError.ts"
import { checkEntry } from "./EntryCheck.ts"
import type { EventStore } from "./EventStore.ts"
import type { OpenJournal } from "./OpenJournal.ts"
import { byCreation } from "./StoredEntry.ts"

type FromRemote = Parameters<EventJournal["Service"]["writeFromRemote"]>[0]

/** One transaction: the events, what their effects did in the same database, and how far the remote has been read. */
export const writeFromRemote = ({ store, writer }: OpenJournal["Service"], { remoteId, entries, compact, effect }: FromRemote) =>
  Effect.gen(function* () {
    for (const { entry } of entries) {
      const refused = checkEntry(store.journal, entry)
      if (refused !== undefined) return yield* refused
    }
    const isPart = yield* store.isInTransaction
    const { stored, duplicates } = yield* store.transaction(
      Effect.gen(function* () {
        const position = yield* store.lock
        const known = yield* store.storedIds(entries.map(({ entry }) => entry.id))
        const { fresh, duplicates } = separate(entries, known)
        const handled = compact === undefined ? fresh.map(({ entry }) => entry) : yield* compact(fresh)
        for (const entry of handled) {
          const conflicts = yield* store.conflicts(entry, position + 1)
          yield* effect({ entry, conflicts })
        }
        const foreign = fresh.map(({ entry }) => ({ entry, origin: remoteId }))
        const stored = yield* writer.append(position, foreign)
        const sequence = entries.reduce((next, { remoteSequence }) => Math.max(next, remoteSequence + 1), 0)
        yield* store.advanceRemote(remoteId, { sequence, sent: 0 })
        if (isPart) yield* store.announce(position + stored.length)
        return { stored, duplicates }
      }),
    )
    if (!isPart) writer.committed(stored)
    return { stored, duplicateEntries: duplicates }
  })

/** An event that is in the batch twice is a duplicate of itself. */
const separate = (entries: ReadonlyArray<RemoteEntry>, known: ReadonlySet<string>) => {
  const seen = new Set(known)
  const fresh: Array<RemoteEntry> = []
  const duplicates: Array<Entry> = []
  for (const one of entries) {
    const id = Encoding.encodeHex(one.entry.id)
    if (seen.has(id)) duplicates.push(one.entry)
    else fresh.push(one)
    seen.add(id)
  }
  return { fresh, duplicates }
}

/**
 * Page by page, so that a remote that has nothing yet does not need everything in memory; gives what the last page gave. A page
 * counts as sent when its effect has succeeded, and positions are gapless: nothing can turn up later among what was sent.
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
        const entries = byCreation(page.map(({ entry }) => entry))
        if (!Arr.isReadonlyArrayNonEmpty(entries)) {
          // The rest up to here came from the remote itself: it need not be looked at again.
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
