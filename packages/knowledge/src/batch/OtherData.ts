/**
 * Finds out whether the data folder of a process belongs to its database: both are given separately, and a process with the folder of
 * another database would fail all of its batches.
 */

import { blobIn, Storage, type StorageFolder } from "@detent/blobs/Storage"
import { Journal } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { BatchId } from "../storage/Identity.ts"
import { pathsOfBatch } from "../storage/Paths.ts"
import { Batches } from "./Batches.ts"
import { BatchMachine } from "./BatchMachine.ts"
import { activeBatchStates } from "./BatchState.ts"

/** The files of the database's unfinished batches are not in the data folder. Nothing was changed. */
export class OtherData extends Schema.TaggedError<OtherData>()("OtherData", {
  folder: Schema.String,
  manifestUri: Schema.String,
  batchId: Schema.String,
}) {
  override get message() {
    return (
      `the data folder ${this.folder} has no file ${this.manifestUri}, the manifest of ${this.batchId}, which is unfinished in this database: ` +
      "give every process of a database the same --data, a folder that all of them see or a bucket; or cancel the batch where its files are"
    )
  }
}

/** How many unfinished batches of each state are checked. */
const mostChecked = 20

/**
 * Fails when the folder has the files of none of the unfinished batches of the database: they would all fail. Storage that is
 * unavailable does not keep a process from starting.
 */
export const refuseOtherData = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const [journal, storage] = [yield* Journal, yield* Storage]
    let missing: OtherData | undefined
    for (const tag of activeBatchStates) {
      for (const { id } of (yield* journal.list({ machine: BatchMachine.name, tag }, mostChecked)).instances) {
        const manifestUri = blobIn(folder, pathsOfBatch(BatchId.make(id)).manifest)
        const isHere = yield* Effect.match(storage.info(manifestUri), { onFailure: () => true, onSuccess: Option.isSome })
        if (isHere) return
        missing ??= new OtherData({ folder, manifestUri, batchId: id })
      }
    }
    if (missing !== undefined) return yield* missing
  })

/**
 * Logs a warning when the database has batches whose files are not in the data folder of this process: the process was started with
 * another `--data` than the one that started the batches, so that neither finds the files of the other. Checks the manifest of the
 * batch that changed last, since manifests are never removed.
 */
export const warnOfOtherData = (folder: StorageFolder) =>
  Effect.gen(function* () {
    const batches = yield* Batches
    const storage = yield* Storage
    const [latest] = (yield* batches.list({ order: "newest", limit: 1 })).instances
    if (latest === undefined) return
    const { batchId, manifestUri } = yield* batches.state(BatchId.make(latest.id))
    const found = yield* Effect.catchTag(storage.info(manifestUri), "AddressRefused", () => Effect.succeedNone)
    if (Option.isSome(found)) return
    yield* Effect.logWarning(
      `the data folder is ${folder}, and the manifest ${manifestUri} of ${batchId}, a batch of this database, is not there: give every ` +
        "process of a database the same --data, a folder that all of them see or a bucket",
    )
  }).pipe(Effect.catch(({ message }) => Effect.logWarning(`cannot check whether the data folder belongs to the database: ${message}`)))
