/**
 * Warns at the start of a process where the database has batches whose files are not in the data of this process: it was started with
 * another `--data` than the process that began them, so that neither finds the files of the other.
 */
import * as Effect from "effect/Effect"
import { BatchId } from "../storage/Identity.ts"
import { Storage } from "../storage/Storage.ts"
import type { StorageFolder } from "../storage/Uri.ts"
import { Batches } from "./Batches.ts"

/** Looks for the manifest of the batch that changed last. Manifests are never removed. */
export const warnOfOtherData = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const storage = yield* Storage
    const [latest] = (yield* batches.list({ order: "newest", limit: 1 })).instances
    if (latest === undefined) return
    const { batchId, manifestUri } = yield* batches.state(BatchId.make(latest.id))
    yield* Effect.catchTag(storage.info(manifestUri), ["AddressRefused", "BlobNotFound"], () =>
      Effect.logWarning(
        `the data is at ${folder}, and the file ${manifestUri} of ${batchId}, which is in the same database, is not there: give every ` +
          "process of a database the same --data, a folder that all of them see or a bucket",
      ),
    )
  }).pipe(
    Effect.catch(({ message }) => Effect.logWarning(`whether the data of this process belongs to its database is not known: ${message}`)),
  )
