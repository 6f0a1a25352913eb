/**
 * Runs the compactions of `EventLog.groupCompaction` on what is stored: when an event of such a group is written, all of the
 * same primary key are given to it, and what it makes of them takes the last of their places. Readers who have been there
 * have seen more than is left; those who come later see what is left.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Entry } from "effect/unstable/eventlog/EventJournal"
import type { Registry } from "effect/unstable/eventlog/EventLog"
import type { EventStore, StoreError } from "./EventStore.ts"
import type { StoredEntry } from "./StoredEntry.ts"

/** At most so many are compacted at once; the next write goes on. */
const bracket = 1_000

type Compactors = Registry["Service"]["compactors"]
type Compactor = Compactors extends ReadonlyMap<string, infer One> ? One : never

export interface Compaction {
  /** Inside a transaction that holds the journal's lock, after these were stored in it. Gives whether anything was compacted. */
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

  /** A compaction that fails leaves everything as it was: nothing is lost by it, and no write should fail for it. */
  const reduce = (compactor: Compactor, entries: ReadonlyArray<StoredEntry>): Effect.Effect<ReadonlyArray<Entry> | undefined> => {
    const left: Array<Entry> = []
    const write = (entry: Entry) => Effect.sync(() => void left.push(entry))
    return Effect.matchCauseEffect(compactor.effect({ entries: entries.map(({ entry }) => entry), write }), {
      onSuccess: () => Effect.succeed(left),
      onFailure: (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.failCause(cause)
          : Effect.as(Effect.logError(`journal ${store.journal}: a compaction failed, and everything was kept`, cause), undefined),
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
