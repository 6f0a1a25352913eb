/** The procedures on batches. */

import { cancel, getStatus, start, startPayloads, streamProgress } from "@detent/api/BatchRpc"
import type { BadRequest } from "@detent/api/Problem"
import * as batches from "@detent/workspace/operations/batches"
import { changeOnce } from "@detent/workspace/RequestKeys"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { makeOperating } from "../serve/Operating.ts"
import { problemOf } from "../serve/ProblemOf.ts"
import { payloadOf, payloadRefused } from "../serve/RpcPayload.ts"
import { decodingManifest } from "./StartBody.ts"

/** Takes payloads undecoded, so that the handler can refuse unknown keys, which the schema would drop. */
export class ReceivedBatchRpc extends RpcGroup.make(
  start.setPayload(Schema.Unknown),
  cancel.setPayload(Schema.Unknown),
  getStatus.setPayload(Schema.Unknown),
  streamProgress.setPayload(Schema.Unknown),
) {}

const decodeManifest = decodingManifest(Schema.toCodecJson(startPayloads.manifest))

export const batchProcedures = ReceivedBatchRpc.toLayer(
  Effect.gen(function* () {
    const operating = yield* makeOperating<KnowledgeServices>()
    const workspace = yield* Effect.context<WorkspaceServices | KnowledgeServices>()
    const manifestUriOf = payloadOf(startPayloads.manifestUri)
    /** Decodes only the given form of the payload, so that the error names a misspelt key. */
    const startOf = (payload: unknown): Effect.Effect<typeof start.payloadSchema.Type, BadRequest> =>
      Predicate.hasProperty(payload, "manifestUri") ? manifestUriOf(payload) : Effect.mapError(decodeManifest(payload), payloadRefused)
    const [batchOf, cancelOf] = [payloadOf(getStatus.payloadSchema), payloadOf(cancel.payloadSchema)]
    return ReceivedBatchRpc.of({
      batch_start: (payload) =>
        Effect.flatMap(startOf(payload), ({ idempotencyKey, ...request }) => operating(batches.start(request, idempotencyKey))),
      batch_cancel: (payload) =>
        Effect.flatMap(cancelOf(payload), ({ batchId, idempotencyKey: key }) =>
          operating(changeOnce({ operation: "batches.cancel", params: { batchId }, content: undefined, key }, batches.cancel(batchId))),
        ),
      batch_getStatus: (payload) => Effect.flatMap(batchOf(payload), ({ batchId }) => operating(batches.status(batchId))),
      batch_streamProgress: (payload) =>
        Stream.unwrap(
          Effect.map(batchOf(payload), ({ batchId }) =>
            Stream.mapError(Stream.provideContext(batches.watch(batchId), workspace), problemOf),
          ),
        ),
    })
  }),
)
