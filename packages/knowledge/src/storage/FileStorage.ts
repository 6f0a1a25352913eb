/**
 * Blobs as plain files in a folder, under `file:///` addresses. Safe among any number of processes on one machine; not made
 * for folders that several machines share over a network.
 */

import { existsSync } from "node:fs"
import { mkdir, readFile as readText, realpath } from "node:fs/promises"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { folderOf, infoOfFile, listFolder, ownFolder, pathIn, readFile, removeFile, streamFile, writeFile } from "./FileBlobs.ts"
import { openLock, openTemporaryFiles } from "./FileLock.ts"
import { AddressRefused, Storage, StorageFailed, type StorageService } from "./Storage.ts"
import type { StorageUri } from "./Uri.ts"

export interface FileStorageOptions {
  /** The folder that is written to, made when it does not exist. */
  readonly root: string
  /** Further folders whose files may be read: where the documents lie. */
  readonly readable?: ReadonlyArray<string>
  /** Folders that were allowed since the storage was opened. Asked when an address is in none of the others. */
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

/** Files that are only read: documents in folders, beside a bucket that is written to. */
export const makeReading = (options: Omit<FileStorageOptions, "root">): Effect.Effect<StorageService> =>
  Effect.map(
    Effect.promise(() => foldersOf(() => options.readable ?? [])),
    (folders) => {
      const refused = (uri: StorageUri) =>
        Effect.fail(new AddressRefused({ uri, problem: "is not in a folder that is written to", nextStep: "name the folder with --data" }))
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
        Effect.promise(() => foldersOf(allowedSince)),
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

/** Their paths with all links followed, the root first. */
const openFolders = async ({ root, readable = [] }: FileStorageOptions): Promise<[string, ...Array<string>]> => {
  await mkdir(join(root, ownFolder), { recursive: true })
  return [await realpath(root), ...(await Promise.all(readable.map((folder) => realpath(folder))))]
}

/** `detent data copy` names the folders that a data folder was copied from, in a file of its own. */
const formerFolders = async (root: string): Promise<ReadonlyArray<string>> => {
  const file = join(root, ownFolder, "former.json")
  return existsSync(file) ? Schema.decodeUnknownSync(Schema.Array(Schema.String))(JSON.parse(await readText(file, "utf8"))) : []
}

/** A folder that is gone allows nothing. */
const foldersOf = async (allowed: FileStorageOptions["allowedSince"]): Promise<ReadonlyArray<string>> => {
  const found = await Promise.allSettled(((await allowed?.()) ?? []).map((folder) => realpath(folder)))
  return found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
}

export const layer = (options: FileStorageOptions): Layer.Layer<Storage, StorageFailed> => Layer.effect(Storage, make(options))
