/**
 * Removes events that newer ones make obsolete, in the transaction that stores the newer ones. Readers that come later do not see the
 * removed events.
 *
 * - `keepLatest`: only the latest event of each primary key is kept, for example of progress events.
 * - `EventLog.groupCompaction`: the user's function gets all events of a group with one primary key, and the events it returns take the
 *   last of their positions.
 */

import { faultOf } from "@detent/store/internal"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Hex from "effect/encoding/Hex"
import { Entry } from "effect/eventlog/EventJournal"
import type { Registry } from "effect/eventlog/EventLog"
import { inBatches } from "./EntryBatch.ts"
import { type EventStore, keyOf, type StoreError } from "./EventStore.ts"
import type { NewEntry, StoredEntry } from "./StoredEntry.ts"

/** The most events that one write compacts; the next write continues. */
const bracket = 1_000

type Compactors = Registry["Service"]["compactors"]
type Compactor = Compactors extends ReadonlyMap<string, infer One> ? One : never

export interface Compaction {
  /** Runs inside the transaction that stored these events and holds the journal's lock. Returns whether it removed events. */
  readonly compact: (stored: ReadonlyArray<StoredEntry>) => Effect.Effect<boolean, StoreError>
}

export const makeCompaction = (store: EventStore, compactors: Compactors): Compaction => {
  const compactOne = (compactor: Compactor, primaryKey: string) =>
    Effect.gen(function* () {
      const entries = yield* store.about(primaryKey, [...compactor.events], bracket)
      if (entries.length < 2) return false
      const left = yield* reduce(compactor, entries)
      if (left === undefined || left.length >= entries.length) return false
      const removed = entries.slice(0, entries.length - left.length)
      yield* store.remove(removed.map(({ position }) => position))
      for (const [index, entry] of left.entries()) yield* store.replace(entries[removed.length + index]?.position ?? 0, entry)
      return true
    })

  /** A failed compaction changes nothing, and does not fail the write. */
  const reduce = (compactor: Compactor, entries: ReadonlyArray<StoredEntry>): Effect.Effect<ReadonlyArray<Entry> | undefined> => {
    const left: Array<Entry> = []
    const write = (entry: Entry) => Effect.sync(() => void left.push(entry))
    return Effect.matchCauseEffect(compactor.effect({ entries: entries.map(({ entry }) => entry), write }), {
      onSuccess: () => Effect.succeed(left),
      onFailure: (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.as(
              Effect.logError(`journal ${store.journal}: a compaction failed, and all its events were kept: ${faultOf(cause)}`),
              undefined,
            ),
    })
  }

  return {
    compact: (stored) =>
      Effect.suspend(() => {
        if (compactors.size === 0) return Effect.succeed(false)
        const touched = new Map<Compactor, Set<string>>()
        for (const { entry } of stored) {
          const compactor = compactors.get(entry.event)
          if (compactor !== undefined) touched.set(compactor, (touched.get(compactor) ?? new Set()).add(entry.primaryKey))
        }
        const all = [...touched].flatMap(([compactor, keys]) => [...keys].map((primaryKey) => [compactor, primaryKey] as const))
        return Effect.map(
          Effect.forEach(all, ([compactor, primaryKey]) => compactOne(compactor, primaryKey)),
          (compacted) => compacted.includes(true),
        )
      }),
  }
}

/** Stores events with `keepLatest`, inside a transaction that holds the journal's lock. Returns the stored events. */
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

/** Assigns the events the positions after the given one. */
export const placed = (after: number, entries: ReadonlyArray<NewEntry>): ReadonlyArray<StoredEntry> =>
  entries.map((one, index) => ({ ...one, position: after + index + 1 }))

/** Events of a remote may be older than stored ones. Of events written here, the one stored last is the latest. */
const lateOnes = (store: EventStore, entries: ReadonlyArray<NewEntry>) =>
  Effect.gen(function* () {
    const foreign = entries.filter(({ origin }) => origin !== undefined)
    if (foreign.length === 0) return new Set<NewEntry>()
    const outdated = yield* store.outdated(foreign.map(({ entry }) => entry))
    return new Set(foreign.filter(({ entry }) => outdated.has(Hex.encode(entry.id))))
  })

const laterOf = (known: NewEntry | undefined, one: NewEntry): NewEntry =>
  known !== undefined && one.origin !== undefined && Entry.Order(known.entry, one.entry) > 0 ? known : one

const nameOf = ({ entry }: NewEntry): string => keyOf(entry.event, entry.primaryKey)
