/**
 * The artifacts of runs, content-addressed: their paths contain the hash of the content, so saving the same content twice has no
 * effect, and loading verifies the content. The database stores only paths and hashes.
 */

import { ContentHash, contentHashOf } from "@detent/blobs/ContentHash"
import { blobIn, folderIn, ifAbsent, ifGeneration, Storage, type StorageError, type StorageFolder } from "@detent/blobs/Storage"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { ArtifactKey, RunId } from "./Identity.ts"
import { type ArtifactPath, pathOfArtifact } from "./Paths.ts"

/** The content of an artifact does not match the hash in its path. */
export class ArtifactDamaged extends Schema.TaggedError<ArtifactDamaged>()("ArtifactDamaged", {
  path: Schema.String,
  expected: ContentHash,
  actual: ContentHash,
}) {
  override get message() {
    return `artifact ${this.path} has the hash ${this.actual}, not ${this.expected}: it was changed or damaged; restore it from a backup, or retry the batch, which makes it again`
  }
}

export interface SavedArtifact {
  readonly path: ArtifactPath
  readonly hash: ContentHash
}

export interface ArtifactStoreService {
  readonly save: (run: RunId, key: ArtifactKey, content: string | Uint8Array) => Effect.Effect<SavedArtifact, StorageError>
  readonly load: (path: ArtifactPath) => Effect.Effect<Uint8Array, StorageError | ArtifactDamaged>
  readonly loadText: (path: ArtifactPath) => Effect.Effect<string, StorageError | ArtifactDamaged>
  /** Removes all artifacts of the run. */
  readonly remove: (run: RunId) => Effect.Effect<void, StorageError>
}

export class ArtifactStore extends Context.Service<ArtifactStore, ArtifactStoreService>()("@detent/knowledge/ArtifactStore") {}

export const make = (folder: StorageFolder): Effect.Effect<ArtifactStoreService, never, Storage> =>
  Effect.map(Storage, (storage) => {
    const load = (path: ArtifactPath) =>
      Effect.gen(function* () {
        const { bytes, hash } = yield* storage.get(blobIn(folder, path))
        const expected = hashIn(path)
        return hash === expected ? bytes : yield* new ArtifactDamaged({ path, expected, actual: hash })
      })

    return {
      load,
      loadText: (path) => Effect.map(load(path), (bytes) => new TextDecoder().decode(bytes)),
      save: (run, key, content) => {
        const hash = contentHashOf(content)
        const path = pathOfArtifact(run, hash, key)
        const uri = blobIn(folder, path)
        return storage.set(uri, content, ifAbsent).pipe(
          Effect.catchTag("PreconditionFailed", () =>
            // The artifact exists already. It is written again only if its content is damaged.
            Effect.filterOrElse(
              storage.get(uri),
              (kept) => kept.hash === hash,
              (kept) => storage.set(uri, content, ifGeneration(kept.generation)),
            ),
          ),
          Effect.as({ path, hash }),
        )
      },
      remove: (run) => Stream.runForEach(storage.list(folderIn(folder, `runs/${run}`)), ({ uri }) => storage.remove(uri)),
    }
  })

/** Stores artifacts in a folder of the storage. */
export const layer = (folder: StorageFolder): Layer.Layer<ArtifactStore, never, Storage> => Layer.effect(ArtifactStore, make(folder))

const hashIn = (path: ArtifactPath): ContentHash => ContentHash.make(path.split("/")[3] ?? "")
