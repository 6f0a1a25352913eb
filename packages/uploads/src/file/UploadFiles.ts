/**
 * The files of uploads: on this machine, or in a storage that many machines share. A file in the storage has an address such as
 * `gs://bucket/uploads/name`; any other text is the path of a local file.
 */
import { rm, stat } from "node:fs/promises"
import { type FileStamp, type FileUnreadable, type OpenedFile, openLocalFile, stampOf } from "@detent/tables"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"

/** Access to files. Promises reject with the code `ENOENT` where the file does not exist. */
export interface UploadFiles {
  readonly open: (path: string) => Promise<OpenedFile>
  readonly stamp: (path: string) => Promise<FileStamp>
  readonly remove: (path: string) => Promise<void>
}

/** A storage that many machines share. Received files are stored there, so that any machine can finish an upload. */
export interface SharedFiles extends UploadFiles {
  /** The address of a new file with this name. */
  readonly addressOf: (name: string) => string
  /** Stores the file completely or not at all. */
  readonly store: <E, R>(
    address: string,
    /** The name of the file in errors. */
    name: string,
    bytes: Stream.Stream<Uint8Array, E, R>,
  ) => Effect.Effect<void, E | FileUnreadable, R>
}

export const localFiles: UploadFiles = {
  open: openLocalFile,
  stamp: async (path) => stampOf(await stat(path)),
  remove: (path) => rm(path, { force: true }),
}

/** Local files and, by their addresses, files of the shared storage. */
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
