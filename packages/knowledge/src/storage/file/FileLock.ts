/**
 * Mutual exclusion between processes, by a lock on a file that the kernel gives back when its holder dies, however it dies.
 * Node has no call for such a lock but SQLite does: a write transaction that writes nothing is just that.
 */
import type { DatabaseSync } from "node:sqlite"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

export interface FileLock {
  /** Runs the section while nobody else holds the lock. The section is synchronous, so nothing can cut it in two. */
  readonly hold: <A, E>(section: () => A, fault: (cause: unknown) => E) => Effect.Effect<A, E>
  /** Takes another lock for good; undefined when somebody else has it. */
  readonly tryKeep: (path: string) => KeptLock | undefined
}

export interface KeptLock {
  readonly release: () => void
}

/** 14 µs to take and give back when nobody else wants it. */
export const openLock = <E>(path: string, fault: (cause: unknown) => E): Effect.Effect<FileLock, E, Scope.Scope> =>
  Effect.gen(function* () {
    // Loaded when it is needed: some versions of Node warn of it as new.
    const sqlite = yield* Effect.promise(() => import("node:sqlite"))
    const opened = (file: string) => openDatabase(sqlite.DatabaseSync, file)
    const database = yield* Effect.acquireRelease(Effect.try({ try: () => opened(path), catch: fault }), (database) =>
      Effect.sync(() => database.close()),
    )
    return {
      hold: (section, fault) =>
        Effect.try({ try: () => inTransaction(database, section), catch: (cause) => (isBusy(cause) ? new LockBusy() : fault(cause)) }).pipe(
          Effect.retry({ while: isLockBusy, schedule: waiting }),
          // The schedule has no end, so nobody gives up waiting.
          Effect.catch((error) => (isLockBusy(error) ? Effect.die(error) : Effect.fail(error))),
        ),
      tryKeep: (other) => keep(opened(other)),
    }
  })

/** Somebody else is in his section. */
class LockBusy extends Data.TaggedError("LockBusy") {}

const isLockBusy = (error: unknown): error is LockBusy => error instanceof LockBusy

const inTransaction = <A>(database: DatabaseSync, section: () => A): A => {
  database.exec("BEGIN IMMEDIATE")
  try {
    return section()
  } finally {
    database.exec("ROLLBACK")
  }
}

const keep = (database: DatabaseSync): KeptLock | undefined => {
  try {
    database.exec("BEGIN IMMEDIATE")
    return { release: () => database.close() }
  } catch (error) {
    database.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

const openDatabase = (Database: typeof DatabaseSync, path: string): DatabaseSync => {
  const database = new Database(path)
  // Nothing is ever written to it, so that there is nothing to keep a journal of.
  database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY")
  return database
}

const sqliteBusy = 5

const isBusy = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "errcode" in error && error.errcode === sqliteBusy

// A holder needs some 0.1 ms, so the first tries come soon and crowds spread out by chance.
const waiting = Schedule.jittered(Schedule.min([Schedule.exponential("1 millis", 1.5), Schedule.spaced("20 millis")]))
