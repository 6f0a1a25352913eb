/**
 * The artifacts of runs, in rows or files. Small contents are in their row, written in the transaction of their checkpoint; larger
 * ones too, but compressed; the largest are files whose paths contain their hash. Every content is checked against its hash when it
 * is read.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import { type ContentHash, contentHashOf } from "@detent/blobs/ContentHash"
import type { StorageError } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ArtifactDamaged, ArtifactStore } from "../storage/ArtifactStore.ts"
import { ArtifactKey, type RunId } from "../storage/Identity.ts"
import { type ArtifactPath, pathOfArtifact } from "../storage/Paths.ts"
import { RunStore } from "./RunStore.ts"
import { ArtifactMissing, type ArtifactRow, type RunStoreFailed, type StoredArtifact } from "./RunTables.ts"

/**
 * In characters: the findings of ten chunks of text are in the row, and share its commit. A file takes folders, its own disk sync,
 * and 2.5 ms more of CPU time.
 */
const largestInRow = 500_000

/**
 * In characters: longer contents are compressed. A document of 6 kB yields 159,000 characters, which compress to 14,500 bytes in 0.4 ms
 * of CPU time; SQLite, which writes everything twice, then takes 0.3 ms for them instead of 2 to 2.5 ms.
 */
const largestUnpacked = 8000

/** In bytes: a character takes three at most. Content that decompresses to more was not written by this program. */
const unpacking = { maxOutputLength: 3 * largestInRow }

const packing = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

export type ArtifactError = StorageError | ArtifactDamaged | ArtifactMissing | RunStoreFailed

export interface Prepared {
  readonly row: ArtifactRow
  readonly path: ArtifactPath
  readonly hash: ContentHash
}

/** Returns the row of an artifact, which the caller stores. Large content is in its file when this returns. */
export const prepareArtifact = (
  run: RunId,
  key: string,
  content: string,
  at: number,
): Effect.Effect<Prepared, StorageError, ArtifactStore> =>
  Effect.gen(function* () {
    const name = ArtifactKey.make(key)
    // Encoded once, for the hash and for compression.
    const bytes = content.length > largestUnpacked ? new TextEncoder().encode(content) : undefined
    const hash = contentHashOf(bytes ?? content)
    const path = pathOfArtifact(run, hash, name)
    const isLarge = content.length > largestInRow
    if (isLarge) yield* Effect.flatMap(ArtifactStore, (store) => store.save(run, name, content))
    const row = {
      run_id: run,
      artifact_key: name,
      content_path: path,
      content_hash: hash,
      content: bytes === undefined ? content : null,
      packed: bytes === undefined || isLarge ? null : zstdCompressSync(bytes, packing),
      created_at: at,
    }
    return { row, path, hash }
  })

export const loadArtifact = (run: RunId, key: string): Effect.Effect<string, ArtifactError, ArtifactStore | RunStore> =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(RunStore, (store) => store.artifact(run, key))
    if (Option.isNone(found)) return yield* new ArtifactMissing({ run, key })
    return yield* contentOf(found.value)
  })

/** The content of a row: its own, or that of the file it names. */
export const contentOf = ({
  content,
  packed,
  content_path: path,
  content_hash: expected,
}: StoredArtifact): Effect.Effect<string, StorageError | ArtifactDamaged, ArtifactStore> => {
  if (content === null && packed === null) return Effect.flatMap(ArtifactStore, (store) => store.loadText(path))
  const kept = packed === null ? (content ?? "") : unpacked(packed)
  const actual = contentHashOf(kept)
  return actual === expected ? Effect.succeed(kept.toString()) : Effect.fail(new ArtifactDamaged({ path, expected, actual }))
}

/** Content that cannot be decompressed, or becomes too large, is returned unchanged, and fails the check of its hash. */
const unpacked = (packed: Uint8Array): Buffer => {
  try {
    return zstdDecompressSync(packed, unpacking)
  } catch {
    return Buffer.from(packed)
  }
}
