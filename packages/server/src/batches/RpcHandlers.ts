/** The procedures on batches, over HTTP at `/rpc` and over WebSocket at `/rpc/socket`. */
import * as batches from "@detent/workspace/operations/batches"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import { HttpServerRequest } from "effect/unstable/http/HttpServerRequest"
import * as RpcSchema from "effect/unstable/rpc/RpcSchema"
import * as RpcServer from "effect/unstable/rpc/RpcServer"
import { Forbidden, kind } from "../api/Problem.ts"
import { Operating, Reading } from "../api/RpcRoles.ts"
import { makeOperating } from "../serve/Operating.ts"
import { problemOf } from "../serve/ProblemOf.ts"
import { problemResponse } from "../serve/ProblemResponse.ts"
import { RequestRoles } from "../serve/RequestRoles.ts"
import { RpcLimits } from "../serve/RpcLimits.ts"
import { areMessages, layerWholeMessages, noMessages } from "../serve/RpcMessages.ts"
import type { AccessRole } from "../serve/Tokens.ts"
import { BatchRpc } from "./Rpc.ts"

const procedures = BatchRpc.toLayer(
  Effect.gen(function* () {
    const operating = yield* makeOperating<KnowledgeServices>()
    const workspace = yield* Effect.context<WorkspaceServices | KnowledgeServices>()
    return BatchRpc.of({
      batch_start: ({ idempotencyKey, ...request }) => operating(batches.start(request, idempotencyKey)),
      batch_cancel: ({ batchId }) => operating(batches.cancel(batchId)),
      batch_getStatus: ({ batchId }) => operating(batches.status(batchId)),
      batch_streamProgress: ({ batchId }) => Stream.mapError(Stream.provideContext(batches.watch(batchId), workspace), problemOf),
    })
  }),
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
    const roles = yield* RequestRoles
    const limits = yield* RpcLimits
    const passes: Context.Service.Shape<typeof Reading> = (procedure, { rpc }) =>
      Effect.withFiber((fiber) => {
        const request = Context.getOption(fiber.context, HttpServerRequest)
        const role = Option.isSome(request) ? roles.get(request.value.source) : undefined
        if (role === undefined || (needed === "operate" && role !== "operate")) return Effect.fail(forbidden(needed))
        return RpcSchema.isStreamSchema(rpc.successSchema) ? limits.streamed(procedure) : limits.answered(procedure)
      })
    return passes
  })

const roles = Layer.mergeAll(Layer.effect(Operating, passing("operate")), Layer.effect(Reading, passing("read")))

/** A defect in one procedure must not close the connections of other clients. */
const options = { disableFatalDefects: true, streamBufferSize: 16 }

const overHttp = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const answer = yield* RpcServer.toHttpEffect(BatchRpc, options)
    yield* router.add("POST", "/rpc", (request) =>
      Effect.flatMap(request.text, (body) => (areMessages(body) ? answer : Effect.succeed(problemResponse(noMessages)))),
    )
  }),
)

const overSocket = RpcServer.layerHttp({ ...options, group: BatchRpc, path: "/rpc/socket", protocol: "websocket" })

export const rpcRoutes = Layer.mergeAll(overHttp, overSocket).pipe(
  Layer.provide(procedures),
  Layer.provide(roles),
  Layer.provide(layerWholeMessages),
)
