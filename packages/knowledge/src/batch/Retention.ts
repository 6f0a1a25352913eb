/**
 * Removes the data of batches that ended long ago, as far as no graph needs it: their runs with their rows, and the files that one stage
 * passes to the next. A run whose document is in the graph keeps the text that its spans refer to, and its review list. Files that a
 * version of the graph references are kept, and so are manifest, status, metadata and reports.
 */

import { blobIn, folderIn, Storage, type StorageFolder } from "@detent/blobs/Storage"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { CanonicalGraph } from "../graph/CanonicalGraph.ts"
import { ReviewStore } from "../review/ReviewStore.ts"
import { RunStore } from "../runs/RunStore.ts"
import { ArtifactStore } from "../storage/ArtifactStore.ts"
import type { BatchId, Namespace } from "../storage/Identity.ts"
import { BatchLinesPath, pathsOfBatch } from "../storage/Paths.ts"
import type { BatchState } from "./BatchState.ts"
import { loadManifest } from "./Manifest.ts"

/** Counts of removed data. */
export interface Purged {
  readonly batches: number
  readonly runs: number
  readonly files: number
}

/** Batches per page. */
const pageSize = 100

/** When a batch ended. None while it is active. */
const endOf = (state: BatchState): Option.Option<number> => {
  if ("completedAt" in state) return Option.some(state.completedAt)
  if ("failedAt" in state) return Option.some(state.failedAt)
  return "cancelledAt" in state ? Option.some(state.cancelledAt) : Option.none()
}

/** `stateOf` returns undefined for a batch whose instance was removed. */
export const purgeBatches = <E, R>(
  folder: StorageFolder,
  stateOf: (id: BatchId) => Effect.Effect<BatchState | undefined, E, R>,
  endedBefore: Duration.Input,
) =>
  Effect.gen(function* () {
    const runs = yield* RunStore
    const reviews = yield* ReviewStore
    const artifacts = yield* ArtifactStore
    const storage = yield* Storage
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(endedBefore)
    let [batches, removed, files, after] = [0, 0, 0, ""]
    for (;;) {
      const page = yield* runs.endedBatches(before, after, pageSize)
      for (const id of page) {
        const state = yield* stateOf(id)
        if (state !== undefined && !Option.exists(endOf(state), (end) => end < before)) continue
        const namespace = state?.targetNamespace ?? (yield* namespaceOf(folder, id))
        const { shown, named } = namespace === undefined ? nothing : yield* neededBy(folder, namespace)
        const { gone, paths } = yield* runs.purge(id, shown)
        yield* reviews.retain(id, shown)
        yield* Effect.forEach(gone, artifacts.remove, { concurrency: 8, discard: true })
        yield* Effect.forEach(paths, (path) => storage.remove(blobIn(folder, path)), { concurrency: 8, discard: true })
        files += yield* removeStageFiles(folder, id, named)
        removed += gone.length
        batches++
      }
      const last = page.at(-1)
      if (last === undefined || page.length < pageSize) return { batches, runs: removed, files } satisfies Purged
      after = last
    }
  })

const nothing = { shown: new Set<string>(), named: new Set<string>() }

/** Undefined when the manifest is gone too. */
const namespaceOf = (folder: StorageFolder, id: BatchId) =>
  Effect.flatMap(Storage, (storage) => loadManifest(storage, blobIn(folder, pathsOfBatch(id).manifest))).pipe(
    Effect.map(({ targetNamespace }) => targetNamespace),
    Effect.catchTag("BlobNotFound", () => Effect.undefined),
  )

/** Returns the runs whose documents are in the graph, and the files that any version of the graph references. */
const neededBy = (_folder: StorageFolder, namespace: Namespace) =>
  Effect.gen(function* () {
    const canonical = yield* CanonicalGraph
    const current = yield* canonical.current(namespace)
    if (Option.isNone(current)) return nothing
    const documents = yield* canonical.documents(current.value)
    const shown = new Set([...documents.values()].flatMap(({ runId }) => (runId === undefined ? [] : [runId])))
    const named = yield* canonical.files(namespace)
    return { shown, named }
  })

const isLinesPath = Schema.is(BatchLinesPath)

/** Removes the graph files that one stage passes to the next, and the graph of the batch. */
const removeStageFiles = (folder: StorageFolder, id: BatchId, named: ReadonlySet<string>) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const all = yield* Stream.runCollect(storage.list(folderIn(folder, `batches/${id}`)))
    const isStageFile = (path: string) => isLinesPath(path) || path === pathsOfBatch(id).canonical
    const removed = yield* Effect.filter(all, ({ uri }) =>
      isStageFile(uri.slice(folder.length)) && !named.has(uri) ? storage.remove(uri) : Effect.succeed(false),
    )
    return removed.length
  })
