/**
 * Compaction of events of which only the latest counts, such as progress: storing one deletes the earlier of the same kind
 * about the same thing, in the same transaction. Readers who come later never see them.
 */
import * as Effect from "effect/Effect"
import { inBatches } from "./Batch.ts"
import type { EventStore } from "./EventStore.ts"
import { keyOf } from "./EventStore.ts"
import type { NewEntry, StoredEntry } from "./StoredEntry.ts"

/** Inside a transaction that holds the journal's lock. Gives what was stored. */
export const appendLatest = (store: EventStore, keepLatest: ReadonlySet<string>, position: number, entries: ReadonlyArray<NewEntry>) =>
  Effect.gen(function* () {
    const compacted = entries.filter(({ entry }) => keepLatest.has(entry.event))
    const late = yield* lateOnes(store, compacted)
    const latest = new Map<string, NewEntry>()
    for (const one of compacted) if (!late.has(one)) latest.set(nameOf(one), laterOf(latest.get(nameOf(one)), one))
    const survivors = entries.filter((one) => !keepLatest.has(one.entry.event) || latest.get(nameOf(one)) === one)
    if (latest.size > 0) yield* store.forget([...latest.values()].map(({ entry }) => entry))
    for (const batch of inBatches(survivors)) yield* store.append(batch)
    return placed(position, survivors)
  })

/** Events with the positions after a position. */
export const placed = (after: number, entries: ReadonlyArray<NewEntry>): ReadonlyArray<StoredEntry> =>
  entries.map((one, index) => ({ ...one, position: after + index + 1 }))

/** What comes from elsewhere may be older than what is stored; what is written here never is, whatever the clock says. */
const lateOnes = (store: EventStore, entries: ReadonlyArray<NewEntry>) =>
  Effect.gen(function* () {
    const foreign = entries.filter(({ origin }) => origin !== undefined)
    if (foreign.length === 0) return new Set<NewEntry>()
    const newest = yield* store.newest(foreign.map(({ entry }) => entry))
    return new Set(foreign.filter((one) => (newest.get(nameOf(one)) ?? 0) > one.entry.createdAtMillis))
  })

const laterOf = (known: NewEntry | undefined, one: NewEntry): NewEntry =>
  known !== undefined && one.origin !== undefined && known.entry.createdAtMillis > one.entry.createdAtMillis ? known : one

const nameOf = ({ entry }: NewEntry): string => keyOf(entry.event, entry.primaryKey)
