/** One storage out of several, each serving one scheme: documents may lie in a bucket while results are written to a folder. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { StorageService } from "./Storage.ts"
import { AddressRefused } from "./StorageError.ts"
import { type Scheme, type StorageFolder, type StorageUri, schemeOf } from "./Uri.ts"

export const routed = (byScheme: Readonly<Partial<Record<Scheme, StorageService>>>): StorageService => {
  const serving = (uri: StorageUri | StorageFolder): Effect.Effect<StorageService, AddressRefused> => {
    const service = byScheme[schemeOf(uri)]
    if (service !== undefined) return Effect.succeed(service)
    const known = Object.keys(byScheme).map((scheme) => `${scheme}://`)
    return Effect.fail(
      new AddressRefused({ uri, problem: "is in a storage that is not set up", nextStep: `use ${known.join(" or ")}, or set it up` }),
    )
  }
  return {
    get: (uri) => Effect.flatMap(serving(uri), (storage) => storage.get(uri)),
    getStream: (uri) => Stream.unwrap(Effect.map(serving(uri), (storage) => storage.getStream(uri))),
    info: (uri) => Effect.flatMap(serving(uri), (storage) => storage.info(uri)),
    set: (uri, content, precondition) => Effect.flatMap(serving(uri), (storage) => storage.set(uri, content, precondition)),
    setStream: (uri, content, precondition) => Effect.flatMap(serving(uri), (storage) => storage.setStream(uri, content, precondition)),
    list: (folder) => Stream.unwrap(Effect.map(serving(folder), (storage) => storage.list(folder))),
    remove: (uri, precondition) => Effect.flatMap(serving(uri), (storage) => storage.remove(uri, precondition)),
  }
}
