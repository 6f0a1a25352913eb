/**
 * Mutual exclusion between processes, with a file lock that the kernel releases when its holder dies for any reason. Node has no API
 * for such locks, but SQLite does: a write transaction that writes nothing acts as one.
 */

import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { type FileHandle, open, rm } from "node:fs/promises"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

export interface FileLock {
  /** Runs the section while holding the lock. The section is synchronous, so no other fiber can run in between. */
  readonly hold: <A, E>(section: () => A, fault: (cause: unknown) => E) => Effect.Effect<A, E>
  /** Acquires the lock at `path` until `release`; undefined if another process holds it. */
  readonly tryKeep: (path: string) => KeptLock | undefined
}

export interface KeptLock {
  readonly release: () => void
}

/** Acquiring and releasing the lock takes 14 µs without contention. */
export const openLock = <E>(path: string, fault: (cause: unknown) => E): Effect.Effect<FileLock, E, Scope.Scope> =>
  Effect.gen(function* () {
    // Loaded on demand: some versions of Node print an experimental warning on import.
    const sqlite = yield* Effect.promise(() => import("node:sqlite"))
    const opened = (file: string) => openDatabase(sqlite.DatabaseSync, file)
    const database = yield* Effect.acquireRelease(Effect.try({ try: () => opened(path), catch: fault }), (database) =>
      Effect.sync(() => database.close()),
    )
    return {
      hold: (section, fault) =>
        Effect.try({ try: () => inTransaction(database, section), catch: (cause) => (isBusy(cause) ? new LockBusy() : fault(cause)) }).pipe(
          Effect.retry({ while: isLockBusy, schedule: waiting }),
          // The schedule is infinite, so `LockBusy` never remains.
          Effect.catch((error) => (isLockBusy(error) ? Effect.die(error) : Effect.fail(error))),
        ),
      tryKeep: (other) => keep(opened(other)),
    }
  })

/** Another process holds the lock. */
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
  // Nothing is ever written, so no journal on disk is needed.
  database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY")
  return database
}

const sqliteBusy = 5

const isBusy = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "errcode" in error && error.errcode === sqliteBusy

// A holder needs some 0.1 ms, so the first retries come soon, and jitter spreads many waiters.
const waiting = Schedule.jittered(Schedule.min([Schedule.exponential("1 millis", 1.5), Schedule.spaced("20 millis")]))

export interface TemporaryFile {
  readonly path: string
  readonly handle: FileHandle
  /** Set after the file was moved into place: then there is nothing to remove. */
  isMoved: boolean
}

/**
 * The files to which blobs are written before they are moved into place. Every open store holds a lock of its own; opening a store
 * removes the files of locks that no process holds, since their owner died.
 */
export interface TemporaryFiles {
  /** A new file, open for writing. It is removed when the scope closes, unless it was moved into place. */
  readonly create: <E>(fault: (cause: unknown) => E) => Effect.Effect<TemporaryFile, E, Scope.Scope>
}

export const openTemporaryFiles = <E>(
  folder: string,
  lock: FileLock,
  fault: (cause: unknown) => E,
): Effect.Effect<TemporaryFiles, E, Scope.Scope> =>
  Effect.gen(function* () {
    const owner = yield* Effect.acquireRelease(
      // Under the common lock, since a lock that another process is just creating would look abandoned.
      lock.hold(() => {
        mkdirSync(folder, { recursive: true })
        cleanUp(folder, lock)
        return becomeOwner(folder, lock)
      }, fault),
      ({ name, kept }) =>
        Effect.sync(() => {
          rmSync(lockPath(folder, name), { force: true })
          kept.release()
        }),
    )
    let made = 0
    return {
      create: (fault) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            const path = join(folder, `${owner.name}.${made++}`)
            return Effect.map(
              Effect.tryPromise({ try: () => open(path, "wx"), catch: fault }),
              (handle): TemporaryFile => ({
                path,
                handle,
                isMoved: false,
              }),
            )
          }),
          (file) => Effect.promise(() => file.handle.close().finally(() => (file.isMoved ? undefined : rm(file.path, { force: true })))),
        ),
    }
  })

interface Owner {
  readonly name: string
  readonly kept: KeptLock
}

const becomeOwner = (folder: string, lock: FileLock): Owner => {
  let number = 0
  while (existsSync(lockPath(folder, `writer-${number}`))) number++
  const name = `writer-${number}`
  const kept = lock.tryKeep(lockPath(folder, name))
  if (kept === undefined) throw new Error(`${lockPath(folder, name)} was created and locked by another process at the same moment`)
  return { name, kept }
}

const cleanUp = (folder: string, lock: FileLock): void => {
  const names = readdirSync(folder)
  const locks = names.filter((name) => name.endsWith(lockEnding)).map((name) => name.slice(0, -lockEnding.length))
  const alive = new Set(locks.filter((name) => isHeld(lockPath(folder, name), lock)))
  for (const name of names) {
    if (!alive.has(name.slice(0, name.indexOf(".")))) rmSync(join(folder, name), { force: true })
  }
}

const isHeld = (path: string, lock: FileLock): boolean => {
  const kept = lock.tryKeep(path)
  kept?.release()
  return kept === undefined
}

const lockEnding = ".lock"

const lockPath = (folder: string, name: string): string => join(folder, `${name}${lockEnding}`)
