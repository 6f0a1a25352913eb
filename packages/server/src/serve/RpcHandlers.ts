/** The procedures on batches, over HTTP at `/rpc` and over WebSocket at `/rpc/socket`. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import * as RpcSchema from "effect/unstable/rpc/RpcSchema"
import * as RpcServer from "effect/unstable/rpc/RpcServer"
import { BatchRpc } from "../api/BatchRpc.ts"
import { Forbidden, kind } from "../api/Problem.ts"
import { Operating, Reading } from "../api/RpcRoles.ts"
import { Capabilities, capabilityHeader } from "./Capabilities.ts"
import { BatchOperations } from "./handlers/BatchOperations.ts"
import { answering, problemOf } from "./ProblemOf.ts"
import { refusalResponse } from "./Refusal.ts"
import { RpcLimits } from "./RpcLimits.ts"
import { areMessages, layerWholeMessages, noMessages } from "./RpcMessages.ts"
import type { AccessRole } from "./Tokens.ts"

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

const forbidden = (role: AccessRole) =>
  new Forbidden({
    type: kind("RoleMissing"),
    title: "Not allowed",
    status: 403,
    detail: `this procedure needs a token of the role ${role}; ask the operator of the server for one`,
  })

/** Checks the caller's role and the limits before a procedure runs. */
const passing = (needed: AccessRole) =>
  Effect.gen(function* () {
    const capabilities = yield* Capabilities
    const limits = yield* RpcLimits
    const passes: Context.Service.Shape<typeof Reading> = (procedure, { rpc, headers }) => {
      const role = capabilities.roleOf(headers[capabilityHeader])
      if (role === undefined || (needed === "operate" && role !== "operate")) return Effect.fail(forbidden(needed))
      return RpcSchema.isStreamSchema(rpc.successSchema) ? limits.streamed(procedure) : limits.answered(procedure)
    }
    return passes
  })

const roles = Layer.mergeAll(Layer.effect(Operating, passing("operate")), Layer.effect(Reading, passing("read")))

/** A defect in one procedure must not close the connections of other clients. */
const options = { disableFatalDefects: true, streamBufferSize: 16 }

const overHttp = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const answer = yield* RpcServer.toHttpEffect(BatchRpc, options)
    yield* router.add("POST", "/rpc", (request) =>
      Effect.flatMap(request.text, (body) => (areMessages(body) ? answer : Effect.succeed(refusalResponse(noMessages)))),
    )
  }),
)

const overSocket = RpcServer.layerHttp({ ...options, group: BatchRpc, path: "/rpc/socket", protocol: "websocket" })

export const rpcRoutes = Layer.mergeAll(overHttp, overSocket).pipe(
  Layer.provide(procedures),
  Layer.provide(roles),
  Layer.provide(layerWholeMessages),
)
