/** The procedures on batches, over HTTP at `/rpc` and over WebSocket at `/rpc/socket`. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import * as RpcSerialization from "effect/unstable/rpc/RpcSerialization"
import * as RpcServer from "effect/unstable/rpc/RpcServer"
import { BatchRpc } from "../api/BatchRpc.ts"
import { Forbidden, kind } from "../api/Problem.ts"
import { Operating, Reading } from "../api/RpcRoles.ts"
import { Capabilities, capabilityHeader } from "./Capabilities.ts"
import { BatchOperations } from "./handlers/BatchOperations.ts"
import { answering, problemOf } from "./ProblemOf.ts"
import { type Refusal, refusalResponse } from "./Refusal.ts"

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
const options = { disableFatalDefects: true, streamBufferSize: 16 }

/** What a client may send; what a procedure is given is checked by its own schema. */
const Message = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({
      _tag: Schema.Literal("Request"),
      id: Schema.Union([Schema.String, Schema.Int]),
      tag: Schema.String,
      headers: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
    }),
    Schema.Struct({ _tag: Schema.Literals(["Ack", "Interrupt"]), requestId: Schema.Union([Schema.String, Schema.Int]) }),
    Schema.Struct({ _tag: Schema.Literals(["Eof", "Ping"]) }),
  ]),
)

const isMessage = (line: string): boolean => Option.isSome(Schema.decodeOption(Message)(line))

const areMessages = (body: string): boolean => {
  const lines = body.split("\n").filter((line) => line.trim() !== "")
  return lines.length > 0 && lines.every(isMessage)
}

const noMessages: Refusal = {
  status: 400,
  name: "MessagesInvalid",
  title: "The request cannot be understood",
  detail: "the body has to be messages of the RPC client, one on a line; use the client of @detent/server, or the API of /openapi.json",
}

const overHttp = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const answer = yield* RpcServer.toHttpEffect(BatchRpc, options)
    yield* router.add("POST", "/rpc", (request) =>
      Effect.flatMap(request.text, (body) => (areMessages(body) ? answer : Effect.succeed(refusalResponse(noMessages)))),
    )
  }),
)

export const rpcRoutes = Layer.mergeAll(
  overHttp,
  RpcServer.layerHttp({ ...options, group: BatchRpc, path: "/rpc/socket", protocol: "websocket" }),
).pipe(Layer.provide(procedures), Layer.provide(roles), Layer.provide(RpcSerialization.layerNdjson))
