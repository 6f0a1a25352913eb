/** Stores bytes that come over the wire as a file, with the size limit and the MD5 on the way. */
import { createHash } from "node:crypto"
import { type FileHandle, mkdir, open, rename, rm } from "node:fs/promises"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Collected, type HashedFile } from "./file/FileInspection.ts"
import { FileTooLarge, FileUnreadable } from "./file/FileProblem.ts"

export interface Received extends HashedFile {
  readonly path: string
}

/** The file is there as a whole or not at all. */
export const receive = <E, R>(
  bytes: Stream.Stream<Uint8Array, E, R>,
  path: string,
  name: string,
  maxFileBytes: number,
  /** At most so many bytes are returned as well. */
  keep: number,
): Effect.Effect<Received, E | FileTooLarge | FileUnreadable, R> => {
  const partial = `${path}.part`
  const failing = <A>(run: () => Promise<A>): Effect.Effect<A, FileUnreadable> =>
    Effect.tryPromise({ try: run, catch: (cause) => new FileUnreadable({ file: name, problem: String(cause), while: "receiving" }) })
  const hash = createHash("md5")
  const kept = new Collected(keep)
  let size = 0
  const write = (file: FileHandle, chunk: Uint8Array): Effect.Effect<void, FileTooLarge | FileUnreadable> => {
    size += chunk.length
    if (size > maxFileBytes) return Effect.fail(new FileTooLarge({ file: name, bytes: size, limit: maxFileBytes, what: "file" }))
    hash.update(chunk)
    kept.add(chunk)
    // All of it: a plain write may write less than it is given, as on a disk that is nearly full.
    return failing(() => file.appendFile(chunk))
  }
  return Effect.gen(function* () {
    yield* failing(() => mkdir(dirname(path), { recursive: true }))
    yield* Effect.acquireUseRelease(
      failing(() => open(partial, "w")),
      (file) =>
        Effect.andThen(
          Stream.runForEach(bytes, (chunk) => write(file, chunk)),
          failing(() => file.sync()),
        ),
      (file) => Effect.promise(() => file.close()),
    )
    yield* failing(() => rename(partial, path))
    yield* failing(() => syncFolder(dirname(path)))
    return { path, md5: hash.digest("hex"), chunks: kept.chunks }
  }).pipe(Effect.onError(() => Effect.promise(() => rm(partial, { force: true }))))
}

/** The new name is as durable as the bytes: a batch must not outlive its file. Windows keeps folders by itself, and opens none. */
const syncFolder = async (path: string): Promise<void> => {
  if (process.platform === "win32") return
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
