/** Operations on batches, used by HTTP and RPC. */
import { createHash } from "node:crypto"
import { pathToFileURL } from "node:url"
import { BatchEventLog, Batches, BatchId, StorageFolder } from "@detent/knowledge"
import { Workspace, type WorkspaceService } from "@detent/workspace/Workspace"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { StartBatch } from "../../api/BatchApi.ts"
import { statusOf } from "../../api/BatchStatus.ts"
import { optional } from "../optional.ts"

export const folderOfWorkspace = ({ data }: WorkspaceService): StorageFolder => StorageFolder.make(`${pathToFileURL(data).href}/`)

/** The same key gives the same batch on every process. */
const batchOfKey = (key: string): BatchId => BatchId.make(`batch-${createHash("sha256").update(key).digest("hex").slice(0, 12)}`)

const make = Effect.gen(function* () {
  const batches = yield* Batches
  const log = yield* BatchEventLog
  const home = folderOfWorkspace(yield* Workspace)

  const status = (id: BatchId) => Effect.map(batches.state(id), statusOf)

  const start = (request: typeof StartBatch.Type, batchId: BatchId | undefined) =>
    Effect.flatMap(
      batches.start(request.folder ?? home, request.manifest, {
        ...optional({ batchId }),
        config: request.config ?? {},
      }),
      status,
    )

  return {
    status,
    start: (request: typeof StartBatch.Type, key: string | undefined) => {
      if (key === undefined) return start(request, undefined)
      const batchId = batchOfKey(key)
      return Effect.catchTag(status(batchId), "BatchNotFound", () => start(request, batchId))
    },
    list: batches.list,
    cancel: (id: BatchId) => Effect.andThen(batches.cancel(id), status(id)),
    retry: (id: BatchId) => Effect.andThen(batches.retry(id), status(id)),
    resume: (id: BatchId) => Effect.andThen(batches.resume(id), status(id)),
    /** The status now and after every change by any process, until the batch ends. */
    watch: (id: BatchId) =>
      Stream.unwrap(
        Effect.map(log.position, (position) =>
          Stream.concat(
            Stream.fromEffect(status(id)),
            Stream.mapEffect(
              Stream.filter(log.events(position), ({ primaryKey }) => primaryKey === id),
              () => status(id),
            ),
          ).pipe(
            Stream.changesWith((left, right) => JSON.stringify(left) === JSON.stringify(right)),
            Stream.takeUntil(({ isTerminal }) => isTerminal),
          ),
        ),
      ),
  }
})

export class BatchOperations extends Context.Service<BatchOperations, Effect.Success<typeof make>>()("@detent/server/BatchOperations") {
  static readonly layer = Layer.effect(BatchOperations, make)
}
