/**
 * Effect's `KeyValueStore` on a folder of any storage: one blob per key. Many processes may share a folder: `modify` uses optimistic
 * concurrency and retries on conflict. A store that does not answer never counts as empty.
 *
 * ```ts
 * const state = StorageKeyValueStore.layer(folderIn(root, "workflow-state")).pipe(Layer.provide(GcsStorage.layer({ root })))
 * ```
 */

import { describe } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import { type Blob, blobIn, ifGeneration, Storage, type StorageError, type StorageFolder, type StorageUri } from "./Storage.ts"

export const make = (folder: StorageFolder): Effect.Effect<KeyValueStore.KeyValueStore, never, Storage> =>
  Effect.map(Storage, (storage) => {
    const failed =
      (method: string, key?: string) =>
      (cause: unknown): KeyValueStore.KeyValueStoreError =>
        new KeyValueStore.KeyValueStoreError({ method, message: describe(cause), cause, ...(key === undefined ? {} : { key }) })

    const at = <A>(method: string, key: string, use: (uri: StorageUri) => Effect.Effect<A, StorageError>) =>
      Effect.try({ try: () => blobIn(folder, nameOf(key)), catch: failed(method, key) }).pipe(
        Effect.flatMap((uri) => Effect.mapError(use(uri), failed(method, key))),
      )

    const readBlob = (uri: StorageUri): Effect.Effect<Blob | undefined, StorageError> =>
      Effect.catchTag(storage.get(uri), "BlobNotFound", () => Effect.undefined)

    /** Retries if another process has written or removed the value meanwhile. */
    const modified = <V extends string | Uint8Array>(uri: StorageUri, read: (bytes: Uint8Array) => V, change: (value: V) => V) =>
      Effect.gen(function* () {
        const blob = yield* readBlob(uri)
        if (blob === undefined) return undefined
        const value = change(read(blob.bytes))
        yield* storage.set(uri, value, ifGeneration(blob.generation))
        return value
      }).pipe(
        Effect.tapErrorTag("PreconditionFailed", () => Effect.flatMap(Random.nextIntBetween(1, 50), (wait) => Effect.sleep(wait))),
        Effect.retry({ while: (error) => error._tag === "PreconditionFailed" }),
      )

    return KeyValueStore.make({
      get: (key) => at("get", key, (uri) => Effect.map(readBlob(uri), (blob) => (blob === undefined ? undefined : textOf(blob.bytes)))),
      getUint8Array: (key) => at("getUint8Array", key, (uri) => Effect.map(readBlob(uri), (blob) => blob?.bytes)),
      set: (key, value) => at("set", key, (uri) => Effect.asVoid(storage.set(uri, value))),
      remove: (key) => at("remove", key, (uri) => Effect.asVoid(storage.remove(uri))),
      has: (key) => at("has", key, (uri) => Effect.map(storage.info(uri), Option.isSome)),
      modify: (key, change) => at("modify", key, (uri) => modified(uri, textOf, change)),
      modifyUint8Array: (key, change) => at("modifyUint8Array", key, (uri) => modified(uri, (bytes) => bytes, change)),
      keys: Effect.mapError(
        Effect.map(Stream.runCollect(storage.list(folder)), (blobs) => blobs.map(({ uri }) => keyOf(uri.slice(folder.length)))),
        failed("keys"),
      ),
      size: Effect.mapError(Stream.runCount(storage.list(folder)), failed("size")),
      isEmpty: Effect.mapError(Effect.map(Stream.runHead(storage.list(folder)), Option.isNone), failed("isEmpty")),
      clear: Effect.mapError(
        Stream.runForEach(storage.list(folder), ({ uri }) => storage.remove(uri)),
        failed("clear"),
      ),
    })
  })

/** Stores values in a folder of the storage. */
export const layer = (folder: StorageFolder): Layer.Layer<KeyValueStore.KeyValueStore, never, Storage> =>
  Layer.effect(KeyValueStore.KeyValueStore, make(folder))

const textOf = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

/** The key of a name; blobs of a `file:` address have their names encoded twice. */
const keyOf = (name: string): string => {
  const plain = name.startsWith("%25") ? decodeURIComponent(name) : name
  return plain === "%empty" ? "" : decodeURIComponent(plain)
}

/** Encodes any key as one segment of an address, without collisions. `%empty`, to which no other key encodes, is the empty key. */
const nameOf = (key: string): string => {
  const name = encodeURIComponent(key)
  if (name === "") return "%empty"
  return name === "." || name === ".." ? name.replaceAll(".", "%2E") : name
}
