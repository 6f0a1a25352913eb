/** Stores events: those of many fibers in one statement, or as a part of the caller's transaction. */
import { explain } from "@detent/machine/internal"
import { isContentProblem, makeBatcher } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Hex from "effect/encoding/Hex"
import type * as Scope from "effect/Scope"
import { appendLatest, placed } from "./Compaction.ts"
import { batchLimit, inBatches } from "./EntryBatch.ts"
import type { EventStore, StoreError } from "./EventStore.ts"
import { EntryUnreadable, JournalClosed } from "./errors.ts"
import type { JournalFollower } from "./JournalFollower.ts"
import { retryTransient } from "./retryTransient.ts"
import type { NewEntry, StoredEntry } from "./StoredEntry.ts"
import type { Tail } from "./Tail.ts"

export interface EntryWriter {
  readonly write: (entry: NewEntry) => Effect.Effect<void, StoreError | JournalClosed>
  /** Stores all events or none. */
  readonly writeAll: (entries: ReadonlyArray<NewEntry>) => Effect.Effect<void, StoreError>
  /**
   * Stores events inside a transaction that holds the journal's lock, after the position that the lock returned. Readers get them when the
   * transaction has been committed.
   */
  readonly append: (position: number, entries: ReadonlyArray<NewEntry>) => Effect.Effect<ReadonlyArray<StoredEntry>, StoreError>
}

export const makeEntryWriter = (
  store: EventStore,
  tail: Tail,
  follower: JournalFollower,
  keepLatest: ReadonlySet<string>,
): Effect.Effect<EntryWriter, never, Scope.Scope> =>
  Effect.gen(function* () {
    const announcing = yield* makeBatcher<number>({
      limit: Number.MAX_SAFE_INTEGER,
      perform: (positions) =>
        Effect.as(
          Effect.catch(store.announce(positions.reduce((last, position) => Math.max(last, position), 0)), (error) =>
            Effect.logDebug(
              `journal ${store.journal} could not announce its position, and other processes find it by polling: ${explain(error)}`,
            ),
          ),
          positions.map(() => Exit.void),
        ),
    })

    const committed = (entries: ReadonlyArray<StoredEntry>) => {
      const last = entries.at(-1)
      if (last === undefined) return
      if (!tail.stored(entries)) follower.poke()
      if (store.dialect.announce !== undefined) announcing.add(last.position)
    }

    const append = (position: number, entries: ReadonlyArray<NewEntry>) =>
      Effect.tap(appendLatest(store, keepLatest, position, entries), (stored) => store.afterCommit(Effect.sync(() => committed(stored))))

    const locked = (entries: ReadonlyArray<NewEntry>) =>
      store.transaction(Effect.flatMap(store.lock, (position) => append(position, entries)))

    /** One statement is a transaction by itself. `keepLatest` must see the events of other writers, and so takes the lock first. */
    const storeAll = (entries: ReadonlyArray<NewEntry>): Effect.Effect<ReadonlyArray<StoredEntry>, StoreError> =>
      entries.some(({ entry }) => keepLatest.has(entry.event))
        ? locked(entries)
        : Effect.map(store.append(entries), (position) => {
            const stored = placed(position - entries.length, entries)
            committed(stored)
            return stored
          })

    const storeMissing = (entries: ReadonlyArray<NewEntry>) =>
      Effect.flatMap(store.storedIds(entries.map(({ entry }) => entry.id)), (stored) => {
        const missing = entries.filter(({ entry }) => !stored.has(Hex.encode(entry.id)))
        if (missing.length < entries.length) follower.poke()
        return missing.length === 0 ? Effect.succeed([]) : storeAll(missing)
      })

    /** One exit for each entry. */
    const flush = (entries: ReadonlyArray<NewEntry>): Effect.Effect<ReadonlyArray<Exit.Exit<void, StoreError>>> => {
      const stored = retryTransient((isRepeated) => (isRepeated ? storeMissing(entries) : storeAll(entries)))
      return Effect.matchCauseEffect(stored, {
        onSuccess: () => Effect.succeed(entries.map(() => Exit.void)),
        onFailure: (cause) => {
          const [reason] = cause.reasons
          // The content of one entry caused the failure: each is stored alone.
          const isOnesFault = entries.length > 1 && reason?._tag === "Fail" && isContent(reason.error)
          return isOnesFault
            ? Effect.map(
                Effect.forEach(entries, (entry) => flush([entry])),
                (exits) => exits.flat(),
              )
            : Effect.succeed(entries.map(() => Exit.failCause(cause)))
        },
      })
    }

    const writing = yield* makeBatcher<NewEntry, void, StoreError | JournalClosed>({
      limit: batchLimit,
      perform: (entries) => Effect.map(Effect.forEach(inBatches(entries), flush), (exits) => exits.flat()),
      closed: () => Exit.fail(new JournalClosed({ journal: store.journal })),
    })

    const writeAll = (entries: ReadonlyArray<NewEntry>) => Effect.asVoid(locked(entries))

    return {
      write: (entry) =>
        Effect.flatMap(store.isInTransaction, (isInTransaction) => (isInTransaction ? writeAll([entry]) : writing.submit(entry))),
      writeAll,
      append,
    }
  })

const isContent = (error: StoreError): boolean => !(error instanceof EntryUnreadable) && isContentProblem(error)
