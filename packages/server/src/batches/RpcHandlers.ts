/** The procedures on batches, over HTTP at `/rpc` and over WebSocket at `/rpc/socket`. */
import * as batches from "@detent/workspace/operations/batches"
import { decodeStrictly } from "@detent/workspace/SchemaProblem"
import type { KnowledgeServices } from "@detent/workspace/Systems"
import type { WorkspaceServices } from "@detent/workspace/Workspace"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import { HttpServerRequest } from "effect/unstable/http/HttpServerRequest"
import * as RpcGroup from "effect/unstable/rpc/RpcGroup"
import * as RpcSchema from "effect/unstable/rpc/RpcSchema"
import * as RpcServer from "effect/unstable/rpc/RpcServer"
import { type BadRequest, Forbidden, kind } from "../api/Problem.ts"
import { Operating, Reading } from "../api/RpcRoles.ts"
import { makeOperating } from "../serve/Operating.ts"
import { badRequest, problemOf } from "../serve/ProblemOf.ts"
import { problemResponse } from "../serve/ProblemResponse.ts"
import { RpcLimits } from "../serve/RpcLimits.ts"
import { areMessages, layerWholeMessages, noMessages } from "../serve/RpcMessages.ts"
import { type AccessRole, RequestRoles } from "../serve/Tokens.ts"
import { cancel, getStatus, start, startPayloads, streamProgress } from "./Rpc.ts"

/** Takes payloads as they were sent: a key that a procedure does not know is refused, where its schema would drop it. */
class ReceivedRpc extends RpcGroup.make(
  start.setPayload(Schema.Unknown),
  cancel.setPayload(Schema.Unknown),
  getStatus.setPayload(Schema.Unknown),
  streamProgress.setPayload(Schema.Unknown),
) {}

const payloadOf = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S) => {
  const decode = decodeStrictly(Schema.toCodecJson(schema))
  return (payload: unknown): Effect.Effect<S["Type"], BadRequest> =>
    Effect.mapError(Effect.fromResult(decode(payload)), (problem) =>
      badRequest("PayloadInvalid", `the payload does not fit: ${problem}; GET /openapi.json tells what is expected`),
    )
}

const procedures = ReceivedRpc.toLayer(
  Effect.gen(function* () {
    const operating = yield* makeOperating<KnowledgeServices>()
    const workspace = yield* Effect.context<WorkspaceServices | KnowledgeServices>()
    const [manifestOf, manifestUriOf] = [payloadOf(startPayloads.manifest), payloadOf(startPayloads.manifestUri)]
    /** Decodes the form that was given, so that a misspelt key is named. */
    const startOf = (payload: unknown): Effect.Effect<typeof start.payloadSchema.Type, BadRequest> =>
      Predicate.hasProperty(payload, "manifestUri") ? manifestUriOf(payload) : manifestOf(payload)
    const batchOf = payloadOf(getStatus.payloadSchema)
    return ReceivedRpc.of({
      batch_start: (payload) =>
        Effect.flatMap(startOf(payload), ({ idempotencyKey, ...request }) => operating(batches.start(request, idempotencyKey))),
      batch_cancel: (payload) => Effect.flatMap(batchOf(payload), ({ batchId }) => operating(batches.cancel(batchId))),
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
    const answer = yield* RpcServer.toHttpEffect(ReceivedRpc, options)
    yield* router.add("POST", "/rpc", (request) =>
      Effect.flatMap(request.text, (body) => (areMessages(body) ? answer : Effect.succeed(problemResponse(noMessages)))),
    )
  }),
)

const overSocket = RpcServer.layerHttp({ ...options, group: ReceivedRpc, path: "/rpc/socket", protocol: "websocket" })

export const rpcRoutes = Layer.mergeAll(overHttp, overSocket).pipe(
  Layer.provide(procedures),
  Layer.provide(roles),
  Layer.provide(layerWholeMessages),
)
