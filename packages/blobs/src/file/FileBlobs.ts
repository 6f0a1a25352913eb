/**
 * One blob as a file. An address resolves only to a path inside the opened folders: links are followed before the check, so that a
 * link cannot lead out. Writes are atomic: the content is written to a temporary file and synced to disk, then renamed into place
 * under a lock that also covers the precondition.
 */

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, unlinkSync, utimesSync } from "node:fs"
import { type FileHandle, mkdir, open, opendir, realpath, rm, stat } from "node:fs/promises"
import { dirname, join, relative, resolve, sep } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { fileURLToPath, pathToFileURL } from "node:url"
import { compareText, releasing } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { contentHashOf, startHash } from "../storage/ContentHash.ts"
import {
  AddressRefused,
  type Blob,
  type BlobInfo,
  BlobNotFound,
  blobIn,
  Generation,
  openingStep,
  type Precondition,
  PreconditionFailed,
  RelativePath,
  type StorageError,
  StorageFailed,
  StorageFolder,
  StorageFull,
  type StorageUri,
  schemeOf,
  type Written,
} from "../storage/Storage.ts"

/** Only the user of the process may read the files and folders that the store creates. */
export const privateFolder = 0o700
const privateFile = 0o600

/** Size, generation and bytes of the same version: all are read from one open file, which a later rename does not affect. */
export const readFile = (uri: StorageUri, path: string): Effect.Effect<Blob, StorageError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { handle, info } = yield* openFile(uri, path)
      const buffer = yield* Effect.tryPromise({ try: () => handle.readFile(), catch: faultOf(uri, "read") })
      const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
      return { ...info, bytes, hash: contentHashOf(bytes) }
    }),
  )

export const streamFile = (uri: StorageUri, path: string): Stream.Stream<Uint8Array, StorageError> =>
  Stream.unwrap(
    Effect.map(openFile(uri, path), ({ handle, info }) =>
      Stream.paginate(0, (position) =>
        Effect.map(readPiece(uri, handle, position, info.size), (piece) => {
          const next = position + piece.length
          // A file that another program appends to meanwhile is read beyond its initial size.
          const isOver = piece.length === 0 || (next === info.size && piece.length < pieceSize)
          return [piece.length === 0 ? [] : [piece], isOver ? Option.none() : Option.some(next)]
        }),
      ),
    ),
  )

const pieceSize = 256 * 1024

/** The buffer has room for one byte beyond the file's size: a short read signals the end of the file without another read. */
const readPiece = (uri: StorageUri, handle: FileHandle, position: number, size: number): Effect.Effect<Uint8Array, StorageError> =>
  Effect.tryPromise({
    try: async () => {
      const room = position > size ? pieceSize : Math.min(pieceSize, size - position + 1)
      const { bytesRead, buffer } = await handle.read(new Uint8Array(room), 0, room, position)
      return buffer.subarray(0, bytesRead)
    },
    catch: faultOf(uri, "read"),
  })

export const infoOfFile = (uri: StorageUri, path: string): Effect.Effect<Option.Option<BlobInfo>, StorageError> =>
  Effect.tryPromise({ try: () => stat(path, { bigint: true }), catch: faultOf(uri, "read") }).pipe(
    Effect.map((stats) =>
      stats.isFile() ? Option.some({ uri, generation: generationOf(stats), size: Number(stats.size) }) : Option.none(),
    ),
    Effect.catchTag("BlobNotFound", () => Effect.succeedNone),
  )

const openFile = (uri: StorageUri, path: string) =>
  Effect.gen(function* () {
    const fault = faultOf(uri, "read")
    const handle = yield* Effect.acquireRelease(Effect.tryPromise({ try: () => open(path, "r"), catch: fault }), (handle) =>
      releasing(path, () => handle.close()),
    )
    const stats = yield* Effect.tryPromise({ try: () => handle.stat({ bigint: true }), catch: fault })
    if (!stats.isFile()) return yield* new BlobNotFound({ uri })
    const info: BlobInfo = { uri, generation: generationOf(stats), size: Number(stats.size) }
    return { handle, info }
  })

/** Everything below a folder. Links are not followed, since they could lead out or form a cycle. */
export const listFolder = (folder: StorageFolder, path: string): Stream.Stream<BlobInfo, StorageError> =>
  Stream.fromAsyncIterable(walk(folder, path, ""), faultOf(folder, "list"))

async function* walk(root: StorageFolder, folder: string, below: string): AsyncGenerator<BlobInfo> {
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name)
    const name = `${below}${entry.name}`
    if (entry.isFolder) {
      if (entry.name !== ownFolder) yield* walk(root, path, `${name}/`)
      continue
    }
    const stats = await statIfThere(path)
    if (stats === undefined) continue
    yield { uri: addressOf(root, name), generation: generationOf(stats), size: Number(stats.size) }
  }
}

const addressOf = (root: StorageFolder, name: string): StorageUri => {
  if (!isRelativePath(name)) throw new Error(`${JSON.stringify(name)} has a name no address can have; rename it`)
  return blobIn(root, name)
}

const isRelativePath = Schema.is(RelativePath)

/** A folder sorts with a trailing slash, so that entries have the order of their blobs' addresses. */
const entriesOf = async (folder: string) => {
  const entries: Array<{ readonly name: string; readonly isFolder: boolean; readonly order: string }> = []
  try {
    for await (const entry of await opendir(folder)) {
      const isFolder = entry.isDirectory()
      if (isFolder || entry.isFile()) entries.push({ name: entry.name, isFolder, order: isFolder ? `${entry.name}/` : entry.name })
    }
  } catch (error) {
    // A folder that does not exist yet is empty.
    if (!hasCode(error, "ENOENT", "ENOTDIR")) throw error
  }
  return entries.sort((a, b) => compareText(a.order, b.order))
}

const statIfThere = async (path: string) => {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    // The file was removed after its folder was read.
    if (hasCode(error, "ENOENT")) return undefined
    throw error
  }
}

export interface FileTarget {
  readonly uri: StorageUri
  readonly path: string
  readonly precondition: Precondition | undefined
}

/**
 * A file's generation is its modification time, which each write sets later than the previous one. After a removal there is no previous
 * time, so a new file gets a random time within the current second.
 */
const generationOf = (stats: { readonly mtimeNs: bigint }): Generation => Generation.make(String(stats.mtimeNs))

export const writeFile = <E, R>(
  lock: FileLock,
  temporary: TemporaryFiles,
  target: FileTarget,
  content: Stream.Stream<Uint8Array, E, R>,
): Effect.Effect<Written, StorageError | E, R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { uri, path } = target
      const fault = faultOf(uri, "write")
      const file = yield* temporary.create(fault)

      const hash = startHash()
      let size = 0
      yield* Stream.runForEach(content, (piece) =>
        attempt(async () => {
          hash.update(piece)
          size += piece.length
          for (let written = 0; written < piece.length; ) written += (await file.handle.write(piece, written)).bytesWritten
        }, fault),
      )
      yield* attempt(() => file.handle.sync(), fault)
      yield* attempt(() => makeFolder(dirname(path)), fault)

      const earliest = yield* newTime
      const moved = yield* lock.hold(() => moveIntoPlace(file, target, earliest), fault)
      const generation = yield* Effect.fromResult(moved)
      yield* attempt(() => syncFolder(dirname(path)), fault)
      return { uri, generation, size, hash: hash.end() }
    }),
  )

/** Whether the file existed. */
export const removeFile = (lock: FileLock, target: FileTarget): Effect.Effect<boolean, StorageError> =>
  Effect.gen(function* () {
    const { uri, path } = target
    const fault = faultOf(uri, "remove")
    const removed = yield* lock.hold(() => {
      const current = currentOf(path)
      const refusal = refusalOf(target, current)
      if (refusal !== undefined) return Result.fail(refusal)
      if (current === undefined) return Result.succeed(false)
      unlinkSync(path)
      return Result.succeed(true)
    }, fault)
    const existed = yield* Effect.fromResult(removed)
    if (existed) yield* attempt(() => syncFolder(dirname(path)), fault)
    return existed
  })

const moveIntoPlace = (file: TemporaryFile, target: FileTarget, earliest: bigint): Result.Result<Generation, PreconditionFailed> => {
  const current = currentOf(target.path)
  const refusal = refusalOf(target, current)
  if (refusal !== undefined) return Result.fail(refusal)
  const generation = stamp(file.path, earliest, current?.mtimeNs ?? 0n)
  renameSync(file.path, target.path)
  file.isMoved = true
  return Result.succeed(generation)
}

/** Sets the file's modification time later than that of the file it replaces, in the smallest step that the file system can store. */
const stamp = (path: string, earliest: bigint, before: bigint): Generation => {
  const first = earliest > before ? earliest : before + 1_000n
  // The system may round a time down, to that of the file before.
  for (const step of [0n, 1_000n, 1_000_000n, 1_000_000_000n, 2_000_000_000n]) {
    const next = first + step
    utimesSync(path, Number(next) / 1e9, Number(next) / 1e9)
    const stats = statSync(path, { bigint: true })
    if (stats.mtimeNs > before) return generationOf(stats)
  }
  throw new Error("the file system does not store modification times")
}

const currentOf = (path: string) => {
  try {
    const stats = statSync(path, { bigint: true })
    return stats.isFile() ? stats : undefined
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined
    throw error
  }
}

const refusalOf = (
  { uri, precondition }: FileTarget,
  current: { readonly mtimeNs: bigint } | undefined,
): PreconditionFailed | undefined => {
  if (precondition === undefined) return undefined
  const actual = current === undefined ? undefined : generationOf(current)
  const expected = precondition._tag === "AtGeneration" ? precondition.generation : undefined
  return actual === expected ? undefined : new PreconditionFailed({ uri, expected, actual })
}

const newTime = Effect.gen(function* () {
  const millis = yield* Clock.currentTimeMillis
  const micros = yield* Random.nextIntBetween(0, 1_000_000)
  return BigInt(Math.floor(millis / 1000)) * 1_000_000_000n + BigInt(micros) * 1_000n
})

/** Creates a folder and its parents, and syncs them to disk. */
const makeFolder = async (path: string): Promise<void> => {
  const first = await mkdir(path, { recursive: true, mode: privateFolder })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

const attempt = <A>(run: () => Promise<A>, fault: (cause: unknown) => StorageError) => Effect.tryPromise({ try: run, catch: fault })

/** The folder of the store's own files, which are not blobs. */
export const ownFolder = ".detent"

export const folderOf = (path: string): StorageFolder => {
  const url = pathToFileURL(resolve(path)).href
  return StorageFolder.make(url.endsWith("/") ? url : `${url}/`)
}

/** The path of an address, with all links resolved. Fails unless it is in one of the folders, which must be real paths. */
export const pathIn = (
  folders: ReadonlyArray<string>,
  uri: StorageUri | StorageFolder,
  /** Folders that the first folder was copied from: their addresses resolve to the first folder. */
  former: ReadonlyArray<string> = [],
): Effect.Effect<string, AddressRefused | StorageFailed> =>
  Effect.gen(function* () {
    if (schemeOf(uri) !== "file") {
      return yield* new AddressRefused({ uri, problem: "is not a file", nextStep: "use an address that begins with file:///" })
    }
    const named = fileURLToPath(uri)
    const left = former.find((folder) => isInside(folder, named))
    const path = left === undefined ? named : join(folders[0] ?? left, relative(left, named))
    const real = yield* Effect.tryPromise({
      try: () => realPathOf(path),
      catch: (cause) => new StorageFailed({ uri, operation: "open", retryable: false, cause }),
    })
    const home = folders.find((folder) => isInside(folder, real))
    if (home === undefined) {
      const problem = folders.some((folder) => isInside(folder, path))
        ? "is a link that leads out of its folder"
        : "is not in an opened folder"
      return yield* new AddressRefused({ uri, problem, nextStep: `the opened folders are ${folders.join(", ")}; ${openingStep}` })
    }
    if (relative(home, real).split(sep)[0] === ownFolder) {
      return yield* new AddressRefused({ uri, problem: "is a file of the store itself", nextStep: `choose a name outside ${ownFolder}` })
    }
    return real
  })

const isInside = (folder: string, path: string): boolean => {
  const rest = relative(folder, path)
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && resolve(folder, rest) === path)
}

/** The path with all links resolved; the last parts need not exist. */
const realPathOf = async (path: string): Promise<string> => {
  try {
    return await realpath(path)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, "ENOENT", "ENOTDIR") || parent === path) throw error
    return resolve(await realPathOf(parent), path.slice(parent.length).replace(/^[/\\]/, ""))
  }
}

const hasCode = (error: unknown, ...codes: ReadonlyArray<string>): boolean =>
  typeof error === "object" && error !== null && "code" in error && codes.some((code) => error.code === code)

/** The disk is full, or a quota or file size limit is reached. */
const full = ["ENOSPC", "EDQUOT", "EFBIG"]

/** Transient errors: too many open files, interrupted or busy. */
const passing = ["EMFILE", "ENFILE", "EAGAIN", "EINTR", "EBUSY"]

export const faultOf =
  (uri: StorageUri | StorageFolder, operation: StorageFailed["operation"]) =>
  (cause: unknown): StorageError => {
    // A reader finds no blob at a folder or below a file; a writer gets the error.
    if (operation === "read" && hasCode(cause, "ENOENT", "ENOTDIR", "EISDIR")) return new BlobNotFound({ uri })
    if (operation === "write" && hasCode(cause, ...full)) return new StorageFull({ uri, cause })
    return new StorageFailed({ uri, operation, retryable: hasCode(cause, ...passing), cause })
  }

// The lock of writers: mutual exclusion between processes, with a file lock that the kernel releases when its holder dies for any reason.
// Node has no API for such locks, but SQLite does: a write transaction that writes nothing acts as one.

interface FileLock {
  /** Runs the section while holding the lock. The section is synchronous, so no other fiber can run in between. */
  readonly hold: <A, E>(section: () => A, fault: (cause: unknown) => E) => Effect.Effect<A, E>
  /** Acquires the lock at `path` until `release`; undefined if another process holds it. */
  readonly tryKeep: (path: string) => KeptLock | undefined
}

interface KeptLock {
  readonly release: () => void
}

/** Acquiring and releasing the lock takes 14 µs without contention. */
export const openLock = <E>(path: string, fault: (cause: unknown) => E): Effect.Effect<FileLock, E, Scope.Scope> =>
  Effect.gen(function* () {
    // Loaded on demand: some versions of Node print an experimental warning on import.
    const sqlite = yield* Effect.promise(() => import("node:sqlite"))
    const opened = (file: string) => openDatabase(sqlite.DatabaseSync, file)
    const database = yield* Effect.acquireRelease(Effect.try({ try: () => opened(path), catch: fault }), (database) =>
      releasing(path, () => database.close()),
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
  // SQLite itself would create a file that every user can read.
  closeSync(openSync(path, "a", privateFile))
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

interface TemporaryFile {
  readonly path: string
  readonly handle: FileHandle
  /** Set after the file was moved into place: then there is nothing to remove. */
  isMoved: boolean
}

/**
 * The files to which blobs are written before they are moved into place. Every open store holds a lock of its own; opening a store
 * removes the files of locks that no process holds, since their owner died.
 */
interface TemporaryFiles {
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
        mkdirSync(folder, { recursive: true, mode: privateFolder })
        cleanUp(folder, lock)
        return becomeOwner(folder, lock)
      }, fault),
      ({ name, kept }) =>
        releasing(lockPath(folder, name), () => {
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
              Effect.tryPromise({ try: () => open(path, "wx", privateFile), catch: fault }),
              (handle): TemporaryFile => ({
                path,
                handle,
                isMoved: false,
              }),
            )
          }),
          (file) =>
            releasing(file.path, () => file.handle.close().finally(() => (file.isMoved ? undefined : rm(file.path, { force: true })))),
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
