/**
 * From an address to a path, and only to a path inside the folders that were opened. Links are followed before it is decided
 * whether a path is inside, so that a link cannot lead out.
 */
import { realpath } from "node:fs/promises"
import { dirname, relative, resolve, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import { AddressRefused, StorageFailed } from "../StorageError.ts"
import { StorageFolder, type StorageUri, schemeOf } from "../Uri.ts"
import { hasCode } from "./FileFault.ts"

/** The store's own files: never a blob. */
export const ownFolder = ".detent"

export const folderOf = (path: string): StorageFolder => {
  const url = pathToFileURL(resolve(path)).href
  return StorageFolder.make(url.endsWith("/") ? url : `${url}/`)
}

/** The path of an address that lies, with all links followed, in one of the folders. The folders have no links in them. */
export const pathIn = (
  folders: ReadonlyArray<string>,
  uri: StorageUri | StorageFolder,
): Effect.Effect<string, AddressRefused | StorageFailed> =>
  Effect.gen(function* () {
    if (schemeOf(uri) !== "file") {
      return yield* new AddressRefused({ uri, problem: "is no file", nextStep: "use an address that begins with file:///" })
    }
    const path = fileURLToPath(uri)
    const real = yield* Effect.tryPromise({
      try: () => realPathOf(path),
      catch: (cause) => new StorageFailed({ uri, operation: "open", retryable: false, cause }),
    })
    const home = folders.find((folder) => isInside(folder, real))
    if (home === undefined) {
      const problem = folders.some((folder) => isInside(folder, path))
        ? "is a link that leads out of its folder"
        : "is not in an opened folder"
      return yield* new AddressRefused({ uri, problem, nextStep: `opened are ${folders.join(", ")}` })
    }
    if (relative(home, real).split(sep)[0] === ownFolder) {
      return yield* new AddressRefused({ uri, problem: "is a file of the store itself", nextStep: `choose a name outside ${ownFolder}` })
    }
    return real
  })

const isInside = (folder: string, path: string): boolean => {
  const rest = relative(folder, path)
  return rest === "" || (rest !== ".." && !rest.startsWith(`..${sep}`) && resolve(folder, rest) === path)
}

/** With all links followed, also for a path of which only the beginning exists. */
const realPathOf = async (path: string): Promise<string> => {
  try {
    return await realpath(path)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, "ENOENT", "ENOTDIR") || parent === path) throw error
    return resolve(await realPathOf(parent), path.slice(parent.length).replace(/^[/\\]/, ""))
  }
}
