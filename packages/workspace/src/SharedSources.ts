/**
 * The folders whose documents a workspace in a bucket may read, in `sources.json` of the bucket: who starts a batch allows its
 * folder on every machine. Folders of one machine are not in it, since no other machine has them.
 */

import { isBucketLocation } from "@detent/durable/BucketLocation"
import { blobIn, ifAbsent, ifGeneration, type StorageError, StorageFailed } from "@detent/knowledge"
import * as StorageLocation from "@detent/knowledge/StorageLocation"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const SourcesJson = Schema.fromJsonString(Schema.Struct({ readable: Schema.Array(Schema.String) }))

const listIn = (data: string) =>
  Effect.gen(function* () {
    const storage = yield* StorageLocation.make({ location: data })
    const uri = blobIn(StorageLocation.folderAt(data), "sources.json")
    const blob = yield* Effect.catchTag(storage.get(uri), "BlobNotFound", () => Effect.undefined)
    if (blob === undefined) return { storage, uri, readable: [], precondition: ifAbsent }
    const { readable } = yield* Effect.mapError(
      Schema.decodeEffect(SourcesJson)(new TextDecoder().decode(blob.bytes)),
      () =>
        new StorageFailed({
          uri,
          operation: "read",
          retryable: false,
          cause: new Error("it is damaged: remove it, and start the batch again"),
        }),
    )
    return { storage, uri, readable, precondition: ifGeneration(blob.generation) }
  })

export const sharedSources = (data: string): Effect.Effect<ReadonlyArray<string>, StorageError> =>
  Effect.scoped(Effect.map(listIn(data), ({ readable }) => readable))

export const shareSource = (data: string, folder: string): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    if (!isBucketLocation(folder)) return
    const { storage, uri, readable, precondition } = yield* listIn(data)
    if (readable.includes(folder)) return
    yield* storage.set(uri, Schema.encodeSync(SourcesJson)({ readable: [...readable, folder] }), precondition)
  }).pipe(Effect.scoped, Effect.retry({ while: (error) => error._tag === "PreconditionFailed" }))
