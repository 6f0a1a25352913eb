/**
 * Writes a blob so that it is there whole or not at all, whatever happens: to a temporary file, through to the disk, then into
 * place by one rename, under a lock in which the precondition is checked.
 */
import { renameSync, statSync, unlinkSync, utimesSync } from "node:fs"
import { mkdir, open } from "node:fs/promises"
import { dirname } from "node:path"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { Generation, type Precondition, startHash, type Written } from "../Storage.ts"
import { PreconditionFailed, type StorageError } from "../StorageError.ts"
import type { StorageUri } from "../Uri.ts"
import { faultOf, hasCode } from "./FileFault.ts"
import type { FileLock } from "./FileLock.ts"
import type { TemporaryFile, TemporaryFiles } from "./TemporaryFiles.ts"

export interface FileTarget {
  readonly uri: StorageUri
  readonly path: string
  readonly precondition: Precondition | undefined
}

/**
 * A file's generation is its time of modification, which a writer sets later than the one before. After a removal nothing is
 * left to be later than, so a new file's time is drawn by chance within the second.
 */
export const generationOf = (stats: { readonly mtimeNs: bigint }): Generation => Generation.make(String(stats.mtimeNs))

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

/** Whether there was one. */
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

/** Gives the file a time later than that of the one it replaces, in steps as fine as the file system keeps them. */
const stamp = (path: string, earliest: bigint, before: bigint): Generation => {
  for (const step of [1_000n, 1_000_000n, 1_000_000_000n, 2_000_000_000n]) {
    const next = earliest > before ? earliest : before + step
    utimesSync(path, Number(next) / 1e9, Number(next) / 1e9)
    const stats = statSync(path, { bigint: true })
    if (stats.mtimeNs > before) return generationOf(stats)
  }
  throw new Error("the file system does not keep times of modification")
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

/** Makes a folder and all above it, through to the disk. */
const makeFolder = async (path: string): Promise<void> => {
  const first = await mkdir(path, { recursive: true })
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
