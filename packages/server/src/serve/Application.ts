/** All routes as one application. Every failure is answered as a problem. */

import { problemOfSchema } from "@detent/workspace/SchemaProblem"
import * as ByteSize from "effect/ByteSize"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { MaxBodySize } from "effect/unstable/http/HttpIncomingMessage"
import * as HttpRouter from "effect/unstable/http/HttpRouter"
import { HttpServerError } from "effect/unstable/http/HttpServerError"
import type { HttpServerRequest } from "effect/unstable/http/HttpServerRequest"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import * as HttpApiBuilder from "effect/unstable/httpapi/HttpApiBuilder"
import * as HttpApiMiddleware from "effect/unstable/httpapi/HttpApiMiddleware"
import * as HttpApiScalar from "effect/unstable/httpapi/HttpApiScalar"
import type { OpenAPISpec } from "effect/unstable/httpapi/OpenApi"
import { isSocketError } from "effect/unstable/socket/Socket"
import { Api, openApi } from "../api/Api.ts"
import { problemType } from "../api/Problem.ts"
import { Refusing } from "../api/Refusing.ts"
import { batchHandlers } from "../batches/Http.ts"
import { rpcRoutes } from "../batches/RpcHandlers.ts"
import { commandHandlers } from "../commands/Http.ts"
import { instanceHandlers } from "../instances/Http.ts"
import { knowledgeHandlers } from "../knowledge/Http.ts"
import { machineHandlers } from "../machines/Http.ts"
import { Gauges } from "../system/Gauges.ts"
import { systemHandlers } from "../system/Http.ts"
import { uploadHandlers } from "../uploads/Http.ts"
import { badRequest } from "./ProblemOf.ts"
import { type ProblemResponse, problemResponse } from "./ProblemResponse.ts"
import { startPage } from "./page/StartPage.ts"
import { pathOf, tooLarge } from "./RequestGuard.ts"

/** The part of a request that a schema describes, in words. */
const parts = {
  Params: "the path",
  Headers: "the headers",
  Query: "the query",
  Payload: "the body",
  Body: "the answer",
  ResponseHeaders: "the answer",
} as const

const refusing = HttpApiMiddleware.layerSchemaErrorTransform(Refusing, ({ kind, cause }) =>
  // An answer that does not fit its schema is a defect of the server.
  kind === "Body" || kind === "ResponseHeaders"
    ? Effect.die(cause)
    : Effect.fail(
        badRequest(`${kind}Invalid`, `${parts[kind]} does not fit: ${problemOfSchema(cause)}; GET /openapi.json tells what is expected`),
      ),
)

const groups = Layer.mergeAll(
  batchHandlers,
  uploadHandlers,
  machineHandlers,
  instanceHandlers,
  commandHandlers,
  knowledgeHandlers,
  systemHandlers,
)

const openApiRoute = HttpRouter.use((router) =>
  Effect.suspend(() => {
    const document = JSON.stringify(openApi())
    return router.add("GET", "/openapi.json", Effect.succeed(HttpServerResponse.text(document, { contentType: "application/json" })))
  }),
)

export const routes = Layer.mergeAll(
  HttpApiBuilder.layer(Api).pipe(Layer.provide(groups), Layer.provide(refusing), Layer.provide(Gauges.layer)),
  HttpApiScalar.layer(Api, { path: "/docs" }),
  openApiRoute,
  startPage,
  rpcRoutes,
)

/** Routes beside the API. */
const otherRoutes: ReadonlyArray<readonly [path: string, methods: ReadonlyArray<string>]> = [
  ["/", ["GET"]],
  ["/docs", ["GET"]],
  ["/openapi.json", ["GET"]],
  ["/rpc", ["POST"]],
]

/** The methods of an address, for the Allow header of a 405 answer. Empty for an address that has no route. */
const makeAllowedMethods = ({ paths }: OpenAPISpec): ((path: string) => ReadonlyArray<string>) => {
  const described = Object.entries(paths).map(([path, item]) => [path, Object.keys(item).map((method) => method.toUpperCase())] as const)
  const known = [...otherRoutes, ...described].map(([path, methods]) => ({ parts: path.split("/"), methods }))
  return (path) => {
    const asked = path.split("/")
    return [...new Set(known.filter(({ parts }) => fits(parts, asked)).flatMap(({ methods }) => methods))].sort()
  }
}

/** A name in braces stands for any one part of the path. */
const fits = (parts: ReadonlyArray<string>, asked: ReadonlyArray<string>): boolean =>
  parts.length === asked.length && parts.every((part, index) => (part.startsWith("{") ? asked[index] !== "" : part === asked[index]))

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Limits bodies to this many bytes and answers every failure with a problem. */
export const withProblems = <E>(
  app: App<E, HttpServerRequest | Scope.Scope>,
  bodyBytes: number,
): App<never, HttpServerRequest | Scope.Scope> => {
  const methodsAt = makeAllowedMethods(openApi())
  return app.pipe(
    Effect.provideService(MaxBodySize, ByteSize.bytes(bodyBytes)),
    Effect.map((response) => (response.status >= 400 && !isProblem(response) ? asProblem(response) : response)),
    Effect.catchCause((cause) => {
      if (Cause.hasInterruptsOnly(cause)) return Effect.interrupt
      return problemOfCause(cause, bodyBytes, methodsAt)
    }),
  )
}

const isProblem = ({ headers }: HttpServerResponse.HttpServerResponse): boolean => headers["content-type"] === problemType

const asProblem = ({ status }: HttpServerResponse.HttpServerResponse) =>
  problemResponse(status === 415 ? unsupported : { ...failed, status })

const problemOfCause = (
  cause: Cause.Cause<unknown>,
  bodyBytes: number,
  methodsAt: (path: string) => ReadonlyArray<string>,
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError) {
    if (error.reason._tag === "RouteNotFound") {
      const { method, url } = error.reason.request
      const methods = methodsAt(pathOf(url))
      // A path that cannot be decoded matches an address but has no route.
      const isThere = methods.length > 0 && !methods.includes(method)
      return Effect.succeed(problemResponse(isThere ? otherMethod(methods) : notFound))
    }
    if (error.reason._tag === "RequestParseError")
      return Effect.succeed(problemResponse(isSizeProblem(error) ? tooLarge(bodyBytes) : unreadable))
  }
  // The client has closed or misused its WebSocket.
  if (isSocketError(error)) return Effect.succeed(problemResponse(unreadable))
  return Effect.as(Effect.logError("a request failed with a defect", cause), problemResponse(failed))
}

const isSizeProblem = ({ reason }: HttpServerError): boolean => /size|bytes|large|limit/i.test(String(reason.cause))

const notFound: ProblemResponse = {
  status: 404,
  name: "RouteNotFound",
  title: "Not found",
  detail: "there is nothing at this address; GET /openapi.json lists what there is",
}

const otherMethod = (methods: ReadonlyArray<string>): ProblemResponse => ({
  status: 405,
  name: "MethodNotAllowed",
  title: "Another method is needed",
  detail: `this address answers to ${methods.join(" and ")}; GET /openapi.json tells what each does`,
  headers: { allow: methods.join(", ") },
})

const unsupported: ProblemResponse = {
  status: 415,
  name: "UnsupportedType",
  title: "This type is not supported",
  detail: "send the body as the content-type that GET /openapi.json names for this operation, usually application/json",
}

const unreadable: ProblemResponse = {
  status: 400,
  name: "BodyUnreadable",
  title: "The body could not be read",
  detail: "the connection broke off or the body is broken; send it again",
}

const failed: ProblemResponse = {
  status: 500,
  name: "Failed",
  title: "It failed",
  detail: "this is a fault of the server; its log has the cause",
}
