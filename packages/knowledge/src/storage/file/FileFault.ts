/** What an error of the file system means to whoever asked for a blob. */

import { BlobNotFound, type StorageError, StorageFailed, StorageFull } from "../StorageError.ts"
import type { StorageFolder, StorageUri } from "../Uri.ts"

export const hasCode = (error: unknown, ...codes: ReadonlyArray<string>): boolean =>
  typeof error === "object" && error !== null && "code" in error && codes.some((code) => error.code === code)

/** No room on the disk, in the quota, or under the limit of a file's size. */
const full = ["ENOSPC", "EDQUOT", "EFBIG"]

/** Too many files open, or interrupted: passes. */
const passing = ["EMFILE", "ENFILE", "EAGAIN", "EINTR", "EBUSY"]

export const faultOf =
  (uri: StorageUri | StorageFolder, operation: StorageFailed["operation"]) =>
  (cause: unknown): StorageError => {
    // Below a file, or at a folder, there is no blob; a writer on the other hand has to know what is in his way.
    if (operation === "read" && hasCode(cause, "ENOENT", "ENOTDIR", "EISDIR")) return new BlobNotFound({ uri })
    if (operation === "write" && hasCode(cause, ...full)) return new StorageFull({ uri, cause })
    return new StorageFailed({ uri, operation, retryable: hasCode(cause, ...passing), cause })
  }
