/**
 * Mutual exclusion between processes, by a lock on a file that the kernel gives back when its holder dies, however it dies.
 * Node has no call for such a lock but SQLite does: a write transaction that writes nothing is just that.
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
  /** Runs the section while no other process holds the lock. The section is synchronous, so nothing can cut it in two. */
  readonly hold: <A, E>(section: () => A, fault: (cause: unknown) => E) => Effect.Effect<A, E>
  /** Takes another lock for good; undefined when another process has it. */
  readonly tryKeep: (path: string) => KeptLock | undefined
}

export interface KeptLock {
  readonly release: () => void
}

/** 14 µs to take and give back without contention. */
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
          // The schedule has no end, so waiting never fails.
          Effect.catch((error) => (isLockBusy(error) ? Effect.die(error) : Effect.fail(error))),
        ),
      tryKeep: (other) => keep(opened(other)),
    }
  })

/** Another process is in its section. */
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

export interface TemporaryFile {
  readonly path: string
  readonly handle: FileHandle
  /** Set when it was moved away: then there is nothing to remove. */
  isMoved: boolean
}

/**
 * Where a blob is written before it takes its place. Every store keeps a lock of its own for as long as it lives; files beside a lock
 * that no process holds were left by a process that died, and are removed when a store is opened.
 */
export interface TemporaryFiles {
  /** A new file, open for writing. It is gone when the scope closes, unless it was moved away by then. */
  readonly create: <E>(fault: (cause: unknown) => E) => Effect.Effect<TemporaryFile, E, Scope.Scope>
}

export const openTemporaryFiles = <E>(
  folder: string,
  lock: FileLock,
  fault: (cause: unknown) => E,
): Effect.Effect<TemporaryFiles, E, Scope.Scope> =>
  Effect.gen(function* () {
    const owner = yield* Effect.acquireRelease(
      // Under the common lock: a lock that is just being made would look as if its holder had died.
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
  if (kept === undefined) throw new Error(`${lockPath(folder, name)} was made and locked by another process at the same moment`)
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
