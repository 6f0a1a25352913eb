/** Addresses of buckets: which bucket and which key an address names, and the address of a key that a listing names. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { StorageFailed } from "../StorageError.ts"
import { type StorageFolder, StorageUri } from "../Uri.ts"

export interface Location {
  readonly bucket: string
  /** Of a folder, the prefix of its keys. */
  readonly key: string
}

export const locationOf = (uri: StorageUri | StorageFolder): Location => {
  const start = uri.indexOf("://") + 3
  const end = uri.indexOf("/", start)
  return { bucket: uri.slice(start, end), key: uri.slice(end + 1) }
}

const decodeUri = Schema.decodeOption(StorageUri)

/** Fails on a key that no address can have, like `a//b`: another program wrote it, and leaving it out would hide it. */
export const listedUri = (folder: StorageFolder, bucket: string, key: string): Effect.Effect<StorageUri, StorageFailed> =>
  Option.match(decodeUri(`${folder.slice(0, 5)}${bucket}/${key}`), {
    onNone: () =>
      Effect.fail(
        new StorageFailed({
          uri: folder,
          operation: "list",
          retryable: false,
          cause: new Error(`${JSON.stringify(key)} has a name no address can have; rename it`),
        }),
      ),
    onSome: Effect.succeed,
  })
