/**
 * Blobs as plain files in a folder, under `file:///` addresses. Safe for concurrent use by processes on one machine, but not for
 * folders that several machines share over a network.
 */

import { existsSync } from "node:fs"
import { mkdir, readFile as readText, realpath } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { AddressRefused, Storage, StorageFailed, type StorageService, type StorageUri } from "../storage/Storage.ts"
import {
  folderOf,
  infoOfFile,
  listFolder,
  openLock,
  openTemporaryFiles,
  ownFolder,
  pathIn,
  privateFolder,
  readFile,
  removeFile,
  streamFile,
  writeFile,
} from "./FileBlobs.ts"

export interface FileStorageOptions {
  /** The writable folder. Created if it does not exist. */
  readonly root: string
  /** Further readable folders, such as those of the documents. */
  readonly readable?: ReadonlyArray<string>
  /** Returns folders that became readable after the storage was opened. Called when an address is in none of the others. */
  readonly allowedSince?: (() => ReadonlyArray<string> | Promise<ReadonlyArray<string>>) | undefined
}

export const make = (options: FileStorageOptions): Effect.Effect<StorageService, StorageFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const fault = (cause: unknown) => new StorageFailed({ uri: folderOf(options.root), operation: "open", retryable: false, cause })
    const [root, ...others] = yield* Effect.tryPromise({ try: () => openFolders(options), catch: fault })
    const former = yield* Effect.tryPromise({ try: () => formerFolders(root), catch: fault })
    const reading = readingIn([root, ...others], options.allowedSince, former)
    const lock = yield* openLock(join(root, ownFolder, "lock"), fault)
    const temporary = yield* openTemporaryFiles(join(root, ownFolder, "temporary"), lock, fault)

    const service: StorageService = {
      ...reading,
      set: (uri, content, precondition) =>
        service.setStream(uri, Stream.succeed(typeof content === "string" ? new TextEncoder().encode(content) : content), precondition),
      setStream: (uri, content, precondition) =>
        Effect.flatMap(pathIn([root], uri, former), (path) => writeFile(lock, temporary, { uri, path, precondition }, content)),
      remove: (uri, precondition) => Effect.flatMap(pathIn([root], uri, former), (path) => removeFile(lock, { uri, path, precondition })),
    }
    return service
  })

/** Read-only files: documents in folders, beside a writable bucket. */
export const makeReading = (options: Omit<FileStorageOptions, "root">): Effect.Effect<StorageService> =>
  Effect.map(
    Effect.promise(() => foldersOf(() => options.readable ?? [])),
    (folders) => {
      const refused = (uri: StorageUri) =>
        Effect.fail(new AddressRefused({ uri, problem: "is not in a writable folder", nextStep: "name the folder with --data" }))
      return { ...readingIn(folders, options.allowedSince, []), set: refused, setStream: refused, remove: refused }
    },
  )

const readingIn = (
  opened: ReadonlyArray<string>,
  allowedSince: FileStorageOptions["allowedSince"],
  former: ReadonlyArray<string>,
): Pick<StorageService, "get" | "getStream" | "info" | "list"> => {
  const pathOf = (uri: Parameters<typeof pathIn>[1]) =>
    Effect.catchTag(pathIn(opened, uri, former), "AddressRefused", (refused) =>
      Effect.flatMap(
        Effect.tryPromise({
          try: () => foldersOf(allowedSince),
          catch: (cause) => new StorageFailed({ uri, operation: "open", retryable: true, cause }),
        }),
        (since) => (since.length === 0 ? Effect.fail(refused) : pathIn([...opened, ...since], uri, former)),
      ),
    )
  return {
    get: (uri) => Effect.flatMap(pathOf(uri), (path) => readFile(uri, path)),
    getStream: (uri) => Stream.unwrap(Effect.map(pathOf(uri), (path) => streamFile(uri, path))),
    info: (uri) => Effect.flatMap(pathOf(uri), (path) => infoOfFile(uri, path)),
    list: (folder) => Stream.unwrap(Effect.map(pathOf(folder), (path) => listFolder(folder, path))),
  }
}

/** The real paths of the folders, the root first. */
const openFolders = async ({ root, readable = [] }: FileStorageOptions): Promise<[string, ...Array<string>]> => {
  await mkdir(join(root, ownFolder), { recursive: true, mode: privateFolder })
  return [await realpath(root), ...(await Promise.all(readable.map((folder) => realpath(folder))))]
}

/** The folders that the data folder was copied from. `detent data copy` records them in `former.json`. */
const formerFolders = async (root: string): Promise<ReadonlyArray<string>> => {
  const file = join(root, ownFolder, "former.json")
  return existsSync(file) ? Schema.decodeUnknownSync(Schema.Array(Schema.String))(JSON.parse(await readText(file, "utf8"))) : []
}

/** The real paths of the folders. Folders that no longer exist are left out. */
const foldersOf = async (allowed: FileStorageOptions["allowedSince"]): Promise<ReadonlyArray<string>> => {
  const resolved = await Promise.allSettled(((await allowed?.()) ?? []).map((folder) => realpath(folder)))
  return resolved.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
}

export const layer = (options: FileStorageOptions): Layer.Layer<Storage, StorageFailed> => Layer.effect(Storage, make(options))
