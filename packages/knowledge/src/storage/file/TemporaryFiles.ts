/**
 * Where a blob is written before it takes its place. Every store keeps a lock of its own for as long as it lives; files beside
 * a lock that nobody holds were left by a process that died, and are removed when a store is opened.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs"
import { type FileHandle, open, rm } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { FileLock, KeptLock } from "./FileLock.ts"

export interface TemporaryFile {
  readonly path: string
  readonly handle: FileHandle
  /** Set by whoever has moved it away: then there is nothing left to remove. */
  isMoved: boolean
}

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
  if (kept === undefined) throw new Error(`${lockPath(folder, name)} was made and locked by somebody else at the same moment`)
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
