/** Reads blobs from files, and finds those below a folder. */
import { type FileHandle, open, opendir, stat } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { compareCodePoints } from "../../rdf/CodePointOrder.ts"
import { contentHashOf } from "../Identity.ts"
import type { Blob, BlobInfo } from "../Storage.ts"
import { BlobNotFound, type StorageError } from "../StorageError.ts"
import { blobIn, RelativePath, type StorageFolder, type StorageUri } from "../Uri.ts"
import { ownFolder } from "./FileAddress.ts"
import { faultOf, hasCode } from "./FileFault.ts"
import { generationOf } from "./FileWriting.ts"

/** Size, generation and bytes of the same writing: all are asked of one open file, which a later rename does not touch. */
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
          // A file that is written to while it is read goes on beyond the size it had.
          const isOver = piece.length === 0 || (next === info.size && piece.length < pieceSize)
          return [piece.length === 0 ? [] : [piece], isOver ? Option.none() : Option.some(next)]
        }),
      ),
    ),
  )

const pieceSize = 256 * 1024

/** Room for one byte more than the file has: what comes back short of it is the file's end, and is not asked for once more. */
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
      Effect.promise(() => handle.close()),
    )
    const stats = yield* Effect.tryPromise({ try: () => handle.stat({ bigint: true }), catch: fault })
    if (!stats.isFile()) return yield* new BlobNotFound({ uri })
    const info: BlobInfo = { uri, generation: generationOf(stats), size: Number(stats.size) }
    return { handle, info }
  })

/** Everything below a folder. Links are not followed: they could lead out, or in circles. */
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

/** A folder sorts as if its name ended in the slash that its blobs have there. */
const entriesOf = async (folder: string) => {
  const entries: Array<{ readonly name: string; readonly isFolder: boolean; readonly order: string }> = []
  try {
    for await (const entry of await opendir(folder)) {
      const isFolder = entry.isDirectory()
      if (isFolder || entry.isFile()) entries.push({ name: entry.name, isFolder, order: isFolder ? `${entry.name}/` : entry.name })
    }
  } catch (error) {
    // A folder nobody wrote into yet holds nothing.
    if (!hasCode(error, "ENOENT", "ENOTDIR")) throw error
  }
  return entries.sort((a, b) => compareCodePoints(a.order, b.order))
}

const statIfThere = async (path: string) => {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    // It was removed since its folder was read.
    if (hasCode(error, "ENOENT")) return undefined
    throw error
  }
}
