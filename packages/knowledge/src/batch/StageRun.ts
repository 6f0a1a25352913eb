/** A stage of a batch by itself: the same work, on files that are named, with nobody to tell but the caller. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { BatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import { Storage, startHash } from "../storage/Storage.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { blobIn, type StorageFolder, type StorageUri } from "../storage/Uri.ts"
import { defaultBatchConfig } from "./BatchConfig.ts"
import type { E, Tell } from "./BatchMachine.ts"
import type { StageGraph } from "./BatchState.ts"
import { loadManifest } from "./StageFiles.ts"

/** What every state of the batch has, from its manifest. */
export const stageRequest = (folder: StorageFolder, batchId: BatchId) =>
  Effect.gen(function* () {
    const manifestUri = blobIn(folder, pathsOfBatch(batchId).manifest)
    const manifest = yield* loadManifest(yield* Storage, manifestUri)
    const request = {
      batchId,
      manifestUri,
      ontologyVersion: manifest.ontologyVersion,
      targetNamespace: manifest.targetNamespace,
      config: defaultBatchConfig,
      documentsTotal: manifest.documents.length,
      retryCount: 0,
      attempt: 0,
      createdAt: manifest.createdAt.epochMilliseconds,
      documentsCompleted: manifest.documents.length,
      documentsFailed: 0,
      entityCount: 0,
      relationCount: 0,
    }
    return { manifest, request }
  })

type Event = typeof E.Type

/** Runs a stage and gives what it would have told its batch. */
export const heard = <Tag extends Event["_tag"], Failure, R>(
  tag: Tag,
  stage: (tell: Tell) => Effect.Effect<void, Failure, R>,
): Effect.Effect<{ readonly event: Extract<Event, { readonly _tag: Tag }>; readonly durationMs: number }, Failure, R> =>
  Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    let told: Event | undefined
    yield* stage((event) =>
      Effect.sync(() => {
        told = event
      }),
    )
    const durationMs = Math.round((yield* Clock.currentTimeMillis) - startedAt)
    if (told?._tag !== tag) return yield* Effect.die(new Error(`the stage ended with ${told?._tag ?? "nothing"}, not with ${tag}`))
    return { event: told as Extract<Event, { readonly _tag: Tag }>, durationMs }
  })

/** Lines of a file of which only the address is known. */
export const linesAt = (uri: StorageUri): Stream.Stream<string, StorageError, Storage> =>
  Stream.unwrap(
    Effect.map(Storage, (storage) =>
      storage.getStream(uri).pipe(
        Stream.decodeText,
        Stream.splitLines,
        Stream.filter((line) => line !== ""),
      ),
    ),
  )

/** What a stage wants to know of the file it reads. */
export const graphAt = (uri: StorageUri): Effect.Effect<StageGraph, StorageError, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const hash = startHash()
    yield* Stream.runForEach(storage.getStream(uri), (piece) => Effect.sync(() => hash.update(piece)))
    const triples = yield* Stream.runCount(linesAt(uri))
    return { uri, hash: hash.end(), triples }
  })
