/** The files of uploads in the bucket of a workspace, so that every machine that works on its database can finish an upload. */
import { createHash } from "node:crypto"
import { type BlobInfo, blobIn, folderIn, isStorageError, type StorageFolder, type StorageService, StorageUri } from "@detent/blobs/Storage"
import * as StorageLocation from "@detent/blobs/StorageLocation"
import { type FileStamp, FileUnreadable, type SharedFiles } from "@detent/uploads"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

export const sharedUploads = (data: string) =>
  Effect.map(StorageLocation.make({ location: data }), (storage) => filesIn(storage, StorageLocation.folderAt(data)))

const filesIn = (storage: StorageService, root: StorageFolder): SharedFiles => {
  const folder = folderIn(root, "uploads")
  const stamp = async (path: string): Promise<FileStamp> => {
    const info = await Effect.runPromise(storage.info(uriOf(path)))
    if (Option.isNone(info)) throw missing(path)
    return stampOf(info.value)
  }
  return {
    addressOf: (name) => blobIn(folder, name),
    store: (address, name, bytes) =>
      storage.setStream(uriOf(address), bytes, { _tag: "Absent" }).pipe(
        Effect.asVoid,
        Effect.catchIf(isStorageError, (error) =>
          Effect.fail(new FileUnreadable({ file: name, problem: error.message, while: "receiving" })),
        ),
      ),
    stamp,
    open: async (path) => {
      await stamp(path)
      return {
        read: (start) => reading(storage, uriOf(path), start),
        stamp: () => stamp(path),
        close: async () => {},
      }
    },
    remove: async (path) => {
      await Effect.runPromise(storage.remove(uriOf(path)))
    },
  }
}

const uriOf = Schema.decodeUnknownSync(StorageUri)

/** The error that Node throws for a missing file. */
const missing = (path: string) => Object.assign(new Error(`there is nothing at ${path}`), { code: "ENOENT" })

async function* reading(storage: StorageService, uri: StorageUri, start: number): AsyncGenerator<Buffer> {
  let passed = 0
  for await (const piece of Stream.toAsyncIterable(storage.getStream(uri))) {
    const from = Math.max(0, Math.min(start - passed, piece.byteLength))
    passed += piece.byteLength
    if (from < piece.byteLength) yield Buffer.from(piece.buffer, piece.byteOffset + from, piece.byteLength - from)
  }
}

/** The generation, which changes with every write, replaces the time. In Google Cloud Storage it is the time in microseconds. */
const stampOf = ({ size, generation }: BlobInfo): FileStamp => ({
  fileSize: size,
  modifiedAt: /^\d{10,19}$/.test(generation)
    ? Math.floor(Number(generation) / 1000)
    : Number.parseInt(createHash("sha256").update(generation).digest("hex").slice(0, 12), 16),
})
