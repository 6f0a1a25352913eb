/**
 * The folders whose documents a workspace in a bucket may read, in `sources.json` of the bucket. Starting a batch allows its folder:
 * a folder in a bucket on every machine, a local folder on this machine only.
 */
import { statSync } from "node:fs"
import { hostname } from "node:os"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { blobIn, ifAbsent, ifGeneration, type StorageError, StorageFailed } from "@detent/blobs/Storage"
import * as StorageLocation from "@detent/blobs/StorageLocation"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const SourcesJson = Schema.fromJsonString(
  Schema.Struct({
    readable: Schema.Array(Schema.String),
    /** Local folders, by the name of their host. */
    local: Schema.optionalKey(Schema.Record(Schema.String, Schema.Array(Schema.String))),
  }),
)

interface Sources {
  readonly readable: ReadonlyArray<string>
  readonly local: Readonly<Record<string, ReadonlyArray<string>>>
}

const nothing: Sources = { readable: [], local: {} }

const textOf = ({ readable, local }: Sources): string =>
  Schema.encodeSync(SourcesJson)({ readable, ...(Object.keys(local).length === 0 ? {} : { local }) })

const listIn = (data: string) =>
  Effect.gen(function* () {
    const storage = yield* StorageLocation.make({ location: data })
    const uri = blobIn(StorageLocation.folderAt(data), "sources.json")
    const blob = yield* Effect.catchTag(storage.get(uri), "BlobNotFound", () => Effect.undefined)
    if (blob === undefined) return { storage, uri, ...nothing, precondition: ifAbsent }
    const { readable, local = {} } = yield* Effect.mapError(
      Schema.decodeEffect(SourcesJson)(new TextDecoder().decode(blob.bytes)),
      () =>
        new StorageFailed({
          uri,
          operation: "read",
          retryable: false,
          cause: new Error("it is damaged: remove it, and start the batch again"),
        }),
    )
    return { storage, uri, readable, local, precondition: ifGeneration(blob.generation) }
  })

/** The folders in buckets, and the local folders of this machine that still exist. */
export const sharedSources = (data: string): Effect.Effect<ReadonlyArray<string>, StorageError> =>
  Effect.scoped(
    Effect.map(listIn(data), ({ readable, local }) => [
      ...readable,
      ...(local[hostname()] ?? []).filter((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true),
    ]),
  )

export const shareSource = (data: string, folder: string): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    const { storage, uri, readable, local, precondition } = yield* listIn(data)
    const host = hostname()
    const known = isBucketLocation(folder) ? readable : (local[host] ?? [])
    if (known.includes(folder)) return
    const changed = isBucketLocation(folder)
      ? { readable: [...readable, folder], local }
      : { readable, local: { ...local, [host]: [...known, folder] } }
    yield* storage.set(uri, textOf(changed), precondition)
    if (!isBucketLocation(folder))
      yield* Effect.logWarning(
        `${folder} is a folder of this machine: only processes on it can continue the batch; copy the documents to a bucket to let others`,
      )
  }).pipe(Effect.scoped, Effect.retry({ while: (error) => error._tag === "PreconditionFailed" }))

/** Removes folders in buckets from the list. Local folders stay in it. */
export const unshareSources = (data: string, folders: ReadonlyArray<string>): Effect.Effect<void, StorageError> =>
  Effect.gen(function* () {
    const { storage, uri, readable, local, precondition } = yield* listIn(data)
    const kept = readable.filter((folder) => !folders.includes(folder))
    if (kept.length < readable.length) yield* storage.set(uri, textOf({ readable: kept, local }), precondition)
  }).pipe(Effect.scoped, Effect.retry({ while: (error) => error._tag === "PreconditionFailed" }))
