/** Serves procedures over HTTP at `/rpc` and over WebSocket at `/rpc/socket`. */

import { Forbidden, kind } from "@detent/api/Problem"
import { Operating, Reading } from "@detent/api/RpcRoles"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Rpc from "effect/rpc/Rpc"
import type * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcSchema from "effect/rpc/RpcSchema"
import * as RpcServer from "effect/rpc/RpcServer"
import type { AccessRole } from "../access/Grant.ts"
import { problemResponse } from "./ProblemResponse.ts"
import { RpcLimits } from "./RpcLimits.ts"
import { areMessages, layerWholeMessages, noMessages } from "./RpcMessages.ts"
import { RequestGrants } from "./Tokens.ts"

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
    const grants = yield* RequestGrants
    const limits = yield* RpcLimits
    const passes: Context.Service.Shape<typeof Reading> = (procedure, { rpc }) =>
      Effect.withFiber((fiber) => {
        const request = Context.getOption(fiber.context, HttpServerRequest)
        const role = Option.isSome(request) ? grants.get(request.value.source)?.role : undefined
        if (role === undefined || (needed === "operate" && role !== "operate")) return Effect.fail(forbidden(needed))
        return RpcSchema.isStreamSchema(rpc.successSchema) ? limits.streamed(procedure) : limits.answered(procedure)
      })
    return passes
  })

/** The middleware of every procedure, and the parser of messages. */
export const rpcServices = Layer.mergeAll(
  Layer.effect(Operating, passing("operate")),
  Layer.effect(Reading, passing("read")),
  layerWholeMessages,
)

/** A defect in one procedure must not close the connections of other clients. */
const options = { disableFatalDefects: true, streamBufferSize: 16 }

const overHttp = <Rpcs extends Rpc.Any>(group: RpcGroup.RpcGroup<Rpcs>) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const answer = yield* RpcServer.toHttpEffect(group, options)
      yield* router.add("POST", "/rpc", (request) =>
        Effect.flatMap(request.text, (body) => (areMessages(body) ? answer : Effect.succeed(problemResponse(noMessages)))),
      )
    }),
  )

export const rpcRoutes = <Rpcs extends Rpc.Any>(group: RpcGroup.RpcGroup<Rpcs>) =>
  Layer.mergeAll(overHttp(group), RpcServer.layerHttp({ ...options, group, path: "/rpc/socket", protocol: "websocket" }))
