/**
 * The location of a workspace's blobs, as users name it: the path of a folder, `gs://bucket/prefix` or `s3://bucket/prefix`. The
 * storage writes only to its location. It reads from there and from further given locations of any kind: documents may be in a bucket
 * while results are in a folder.
 */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as GcsStorage from "./cloud/GcsStorage.ts"
import type { BucketScope } from "./cloud/ObjectStorage.ts"
import * as S3Storage from "./cloud/S3Storage.ts"
import { folderOf } from "./file/FileBlobs.ts"
import * as FileStorage from "./file/FileStorage.ts"
import { isBucketLocation } from "./storage/BucketLocation.ts"
import { AddressRefused, routed, Storage, type StorageFailed, StorageFolder, type StorageService, schemeOf } from "./storage/Storage.ts"

/** Returns locations that became readable after the storage was opened. Called when an address is in none of the others. */
export type AllowedSince = () => ReadonlyArray<string> | Promise<ReadonlyArray<string>>

export interface StorageLocationOptions {
  readonly location: string
  /** Further readable locations. */
  readonly readable?: ReadonlyArray<string>
  readonly allowedSince?: AllowedSince | undefined
}

const decodeFolder = Schema.decodeOption(StorageFolder)

/** The folder of a location. */
export const locate = (location: string): Result.Result<StorageFolder, AddressRefused> => {
  if (!isBucketLocation(location)) return Result.succeed(folderOf(location))
  const folder = /^(gs|s3):/.test(location) ? decodeFolder(location.endsWith("/") ? location : `${location}/`) : Option.none()
  return Option.match(folder, {
    onNone: () =>
      Result.fail(
        new AddressRefused({
          uri: location,
          problem: "is not a folder of a bucket",
          nextStep:
            "write it as gs://BUCKET/PREFIX or s3://BUCKET/PREFIX, with a BUCKET of 3 to 63 lower-case letters, digits, - and ., in gs:// also _",
        }),
      ),
    onSome: Result.succeed,
  })
}

/** Like {@link locate}, but throws on an invalid location: use {@link locate} for locations from user input. */
export const folderAt = (location: string): StorageFolder => Result.getOrThrow(locate(location))

export const make = ({
  location,
  readable = [],
  allowedSince,
}: StorageLocationOptions): Effect.Effect<StorageService, StorageFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const root = folderAt(location)
    const scheme = schemeOf(root)
    const paths = {
      readable: readable.filter((one) => !isBucketLocation(one)),
      allowedSince: allowedSince && (async () => (await allowedSince()).filter((one) => !isBucketLocation(one))),
    }
    const file = scheme === "file" ? yield* FileStorage.make({ root: location, ...paths }) : yield* FileStorage.makeReading(paths)
    const scopeOf = (own: "gs" | "s3"): BucketScope => {
      const foldersIn = (locations: ReadonlyArray<string>) => locations.flatMap((one) => (one.startsWith(`${own}:`) ? [folderAt(one)] : []))
      return {
        root: scheme === own ? root : undefined,
        readable: foldersIn(readable),
        allowedSince: allowedSince && (async () => foldersIn(await allowedSince())),
      }
    }
    return routed({ file, gs: yield* GcsStorage.make(scopeOf("gs")), s3: yield* S3Storage.make(scopeOf("s3")) })
  })

export const layer = (options: StorageLocationOptions): Layer.Layer<Storage, StorageFailed> => Layer.effect(Storage, make(options))
