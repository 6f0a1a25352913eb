/**
 * Where the files of uploads are: on this machine, or in a storage that many machines share. A file of the storage has an address
 * like `gs://bucket/uploads/name`; any other text is the path of a file on this machine.
 */
import { open, rm, stat } from "node:fs/promises"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { FileUnreadable } from "./FileProblem.ts"

/** Size and time of a file, which show whether it was written to. */
export interface FileStamp {
  readonly fileSize: number
  /** In milliseconds since 1970. */
  readonly modifiedAt: number
}

/** A file that is being read. It stays the same file when another takes its name. */
export interface OpenedFile {
  readonly read: (start: number) => AsyncIterable<Buffer>
  readonly stamp: () => Promise<FileStamp>
  readonly close: () => Promise<void>
}

/** Files of one place. Promises are rejected with the code `ENOENT` where there is no such file. */
export interface UploadFiles {
  readonly open: (path: string) => Promise<OpenedFile>
  readonly stamp: (path: string) => Promise<FileStamp>
  readonly remove: (path: string) => Promise<void>
}

/** A place that many machines share. Received files are stored there, so that any of them can finish an upload. */
export interface SharedFiles extends UploadFiles {
  /** The address that a new file of a name has. */
  readonly addressOf: (name: string) => string
  /** The file is there as a whole or not at all. */
  readonly store: <E, R>(
    address: string,
    /** The name of the file in errors. */
    name: string,
    bytes: Stream.Stream<Uint8Array, E, R>,
  ) => Effect.Effect<void, E | FileUnreadable, R>
}

/** The bytes that are read at a time. */
const chunkBytes = 256 * 1024

export const localFiles: UploadFiles = {
  open: async (path) => {
    const file = await open(path, "r")
    return {
      read: (start) => file.createReadStream({ start, highWaterMark: chunkBytes, autoClose: false }) as AsyncIterable<Buffer>,
      stamp: async () => stampOf(await file.stat()),
      close: () => file.close(),
    }
  },
  stamp: async (path) => stampOf(await stat(path)),
  remove: (path) => rm(path, { force: true }),
}

const stampOf = ({ size, mtimeMs }: { readonly size: number; readonly mtimeMs: number }): FileStamp => ({
  fileSize: size,
  modifiedAt: Math.floor(mtimeMs),
})

/** Files of this machine and, by their addresses, of the shared place. */
export const filesIn = (shared: SharedFiles | undefined): UploadFiles => {
  if (shared === undefined) return localFiles
  const servingFor = (path: string): UploadFiles => (isAddress(path) ? shared : localFiles)
  return {
    open: (path) => servingFor(path).open(path),
    stamp: (path) => servingFor(path).stamp(path),
    remove: (path) => servingFor(path).remove(path),
  }
}

export const isAddress = (path: string): boolean => /^[a-z0-9]+:\/\//.test(path)
