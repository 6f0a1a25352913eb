/** The operations on batches as remote procedures, over HTTP and WebSocket. */
import { BatchId } from "@detent/knowledge/schemas"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import { IdempotencyKey } from "../contract/Headers.ts"
import { type Problem, problems } from "../contract/Problem.ts"
import { BatchStatus, StartManifest, StartManifestUri } from "../groups/BatchApi.ts"
import { Operating, Reading } from "./RpcRoles.ts"

const error = Schema.Union(problems) satisfies Schema.Codec<Problem, unknown>

const idempotencyKey = Schema.optionalKey(IdempotencyKey)

/** The payload of `batch_start`: the manifest itself, or its address. */
export const startPayloads = {
  manifest: Schema.Struct({ ...StartManifest.fields, idempotencyKey }),
  manifestUri: Schema.Struct({ ...StartManifestUri.fields, idempotencyKey }),
}

export const start = Rpc.make("batch_start", {
  payload: Schema.Union([startPayloads.manifest, startPayloads.manifestUri]),
  success: BatchStatus,
  error,
}).middleware(Operating)

export const cancel = Rpc.make("batch_cancel", {
  payload: { batchId: BatchId, idempotencyKey },
  success: BatchStatus,
  error,
}).middleware(Operating)

export const getStatus = Rpc.make("batch_getStatus", { payload: { batchId: BatchId }, success: BatchStatus, error }).middleware(Reading)

/** The status of the batch, then every change, until it ends. */
export const streamProgress = Rpc.make("batch_streamProgress", {
  payload: { batchId: BatchId },
  success: BatchStatus,
  error,
  stream: true,
}).middleware(Reading)

export class BatchRpc extends RpcGroup.make(start, cancel, getStatus, streamProgress) {}
