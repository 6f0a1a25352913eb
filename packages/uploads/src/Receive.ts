/** Stores received bytes as a file, checking the size limit and the MD5. */

import { createHash } from "node:crypto"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { dirname } from "node:path"
import { releasing } from "@detent/machine/internal"
import { privateFile, privateFolder } from "@detent/store/internal"
import { FileTooLarge, FileUnreadable } from "@detent/tables"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Collected, type CollectionLimit } from "./file/Collected.ts"
import type { HashedFile } from "./file/FileInspection.ts"
import type { SharedFiles } from "./file/UploadFiles.ts"

export interface Received extends HashedFile {
  readonly path: string
}

/** A place for one file, which is stored completely or not at all. */
export interface Target {
  readonly path: string
  readonly store: <E, R>(name: string, bytes: Stream.Stream<Uint8Array, E, R>) => Effect.Effect<void, E | FileUnreadable, R>
}

export const receive = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  { path, store }: Target,
  name: string,
  maxFileBytes: number,
  /** Bytes that fit into it are returned as well. */
  keptLimit: CollectionLimit,
): Effect.Effect<Received, E | FileTooLarge | FileUnreadable, R> =>
  Effect.gen(function* () {
    const hash = createHash("md5")
    const kept = yield* Effect.acquireUseRelease(
      Effect.sync(() => new Collected<Uint8Array>(keptLimit)),
      (collected) => {
        let size = 0
        const counted = Stream.mapEffect(bytes, (chunk) => {
          size += chunk.length
          if (size > maxFileBytes) return Effect.fail(new FileTooLarge({ file: name, bytes: size, limit: maxFileBytes, what: "file" }))
          hash.update(chunk)
          collected.add(chunk, chunk.length)
          return Effect.succeed(chunk)
        })
        return Effect.as(store(name, counted), collected)
      },
      (collected) => Effect.sync(() => collected.release()),
    )
    return { path, md5: hash.digest("hex"), chunks: kept.parts }
  })

const failing = <A>(name: string, run: () => Promise<A>): Effect.Effect<A, FileUnreadable> =>
  Effect.tryPromise({ try: run, catch: (cause) => new FileUnreadable({ file: name, problem: String(cause), while: "receiving" }) })

/** A local file. */
export const localTarget = (path: string): Target => ({
  path,
  store: (name, bytes) => {
    const partial = `${path}.part`
    return Effect.gen(function* () {
      yield* failing(name, () => mkdir(dirname(path), { recursive: true, mode: privateFolder }))
      yield* Effect.acquireUseRelease(
        failing(name, () => open(partial, "w", privateFile)),
        (file) =>
          Effect.andThen(
            // `appendFile` writes all bytes: a plain write may write fewer, as on a disk that is nearly full.
            Stream.runForEach(bytes, (chunk) => failing(name, () => file.appendFile(chunk))),
            failing(name, () => file.sync()),
          ),
        (file) => releasing(partial, () => file.close()),
      )
      yield* failing(name, () => rename(partial, path))
      yield* failing(name, () => syncFolder(dirname(path)))
    }).pipe(Effect.onError(() => releasing(partial, () => rm(partial, { force: true }))))
  },
})

/** A file in the storage that all machines share. */
export const sharedTarget = (files: SharedFiles, path: string): Target => ({
  path,
  store: (name, bytes) => files.store(path, name, bytes),
})

/** Makes the new name as durable as the bytes: a batch must not outlive its file. Windows cannot open folders, and needs no sync. */
const syncFolder = async (path: string): Promise<void> => {
  if (process.platform === "win32") return
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
