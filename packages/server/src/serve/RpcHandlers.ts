/** The procedures on batches, over HTTP at `/rpc` and over WebSocket at `/rpc/socket`. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as RpcSerialization from "effect/unstable/rpc/RpcSerialization"
import * as RpcServer from "effect/unstable/rpc/RpcServer"
import { BatchRpc } from "../api/BatchRpc.ts"
import { Forbidden, kind } from "../api/Problem.ts"
import { Operating, Reading } from "../api/RpcRoles.ts"
import { Capabilities, capabilityHeader } from "./Capabilities.ts"
import { BatchOperations } from "./handlers/BatchOperations.ts"
import { answering, problemOf } from "./ProblemOf.ts"

const procedures = BatchRpc.toLayer(
  Effect.map(BatchOperations, (operations) =>
    BatchRpc.of({
      batch_start: ({ idempotencyKey, ...request }) => answering(operations.start(request, idempotencyKey)),
      batch_cancel: ({ batchId }) => answering(operations.cancel(batchId)),
      batch_getStatus: ({ batchId }) => answering(operations.status(batchId)),
      batch_streamProgress: ({ batchId }) => Stream.mapError(operations.watch(batchId), problemOf),
    }),
  ),
)

const forbidden = (role: string) =>
  Effect.fail(
    new Forbidden({
      type: kind("RoleMissing"),
      title: "Not allowed",
      status: 403,
      detail: `this procedure needs a token of the role ${role}; ask whoever runs the server for one`,
    }),
  )

const roles = Layer.mergeAll(
  Layer.effect(
    Operating,
    Effect.map(Capabilities, (capabilities) =>
      Operating.of((procedure, { headers }) =>
        capabilities.roleOf(headers[capabilityHeader]) === "operate" ? procedure : forbidden("operate"),
      ),
    ),
  ),
  Layer.effect(
    Reading,
    Effect.map(Capabilities, (capabilities) =>
      Reading.of((procedure, { headers }) =>
        capabilities.roleOf(headers[capabilityHeader]) === undefined ? forbidden("read") : procedure,
      ),
    ),
  ),
)

/** A procedure that fails in a way nobody foresaw must not take the other clients' connections with it. */
const options = { group: BatchRpc, disableFatalDefects: true, streamBufferSize: 16 }

export const rpcRoutes = Layer.mergeAll(
  RpcServer.layerHttp({ ...options, path: "/rpc", protocol: "http" }),
  RpcServer.layerHttp({ ...options, path: "/rpc/socket", protocol: "websocket" }),
).pipe(Layer.provide(procedures), Layer.provide(roles), Layer.provide(RpcSerialization.layerNdjson))
