/** All routes as one application. Every failure is answered with a problem. */

import { makeRequestTable, type RequestTable } from "@detent/api/Access"
import { CoreApi } from "@detent/api/CoreApi"
import type { KnowledgePart } from "@detent/api/KnowledgePart"
import { problemType } from "@detent/api/Problem"
import { Refusing } from "@detent/api/Refusing"
import type { UploadPart } from "@detent/api/UploadPart"
import { explainWithFrames } from "@detent/machine/internal"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import { SystemOff } from "@detent/workspace/errors"
import { decodeStrictly, problemOfSchema } from "@detent/workspace/SchemaProblem"
import { Systems } from "@detent/workspace/Systems"
import * as ByteSize from "effect/ByteSize"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerError } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as HttpApi from "effect/http-api/HttpApi"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { isSocketError } from "effect/socket/Socket"
import { BatchRpcOff, batchProceduresOff } from "./batches/RpcOff.ts"
import { clusterHandlers } from "./cluster/Http.ts"
import { commandHandlers } from "./commands/Http.ts"
import { commandProcedures, ReceivedCommandRpc } from "./commands/RpcHandlers.ts"
import { executionHandlers } from "./executions/Http.ts"
import { executionProcedures, ReceivedExecutionRpc } from "./executions/RpcHandlers.ts"
import { instanceHandlers } from "./instances/Http.ts"
import { liveHandlers } from "./live/Http.ts"
import { machineHandlers } from "./machines/Http.ts"
import { scheduleHandlers } from "./schedules/Http.ts"
import { isNestedTooDeeply, mayNest, nestedTooDeeply } from "./serve/Nesting.ts"
import { badRequest } from "./serve/ProblemOf.ts"
import { type ProblemResponse, problemResponse } from "./serve/ProblemResponse.ts"
import { referencePage } from "./serve/page/ReferencePage.ts"
import { notDecodable, pathOf } from "./serve/RequestGuard.ts"
import { rpcRoutes, rpcServices } from "./serve/RpcRoutes.ts"
import { sessionHandlers } from "./session/Http.ts"
import { Gauges } from "./system/Gauges.ts"
import { systemHandlers } from "./system/Http.ts"
import { MetricsHistory } from "./system/MetricsHistory.ts"
import { accessHandlers } from "./tokens/Http.ts"
import { webhookPath, webhookRoutes } from "./webhooks/Http.ts"

/** The part of a request that a schema describes, in words. */
const parts = {
  Params: "the path",
  Headers: "the headers",
  Query: "the query",
  Payload: "the body",
  Body: "the answer",
  ResponseHeaders: "the answer",
} as const

const refusing = HttpApiMiddleware.layerSchemaErrorTransform(Refusing, ({ kind, cause }, { endpoint }) =>
  // An answer that does not fit its schema is a defect of the server.
  kind === "Body" || kind === "ResponseHeaders"
    ? Effect.die(cause)
    : Effect.flatMap(kind === "Payload" ? problemOfBody(endpoint) : Effect.undefined, (problem = problemOfSchema(cause)) =>
        Effect.fail(badRequest(`${kind}Invalid`, `${parts[kind]} does not fit: ${problem}; GET /openapi.json has the schema`)),
      ),
)

/** All errors of a JSON body, from a strict decode: for a misspelt key, the cause names only the missing key. */
const problemOfBody = ({ payload }: HttpApiEndpoint.Top): Effect.Effect<string | undefined, never, HttpServerRequest> => {
  const schemas = payload.get("application/json")?.schemas ?? []
  const [schema] = schemas
  if (schema === undefined || schemas.length > 1) return Effect.undefined
  return Effect.flatMap(HttpServerRequest, ({ json }) =>
    Effect.match(json, {
      onFailure: () => undefined,
      onSuccess: (body) => Result.getOrUndefined(Result.flip(decodeStrictly(schema as Schema.Codec<unknown, unknown>)(body))),
    }),
  )
}

const groups = Layer.mergeAll(
  machineHandlers,
  instanceHandlers,
  executionHandlers,
  commandHandlers,
  scheduleHandlers,
  accessHandlers,
  clusterHandlers,
  liveHandlers,
  sessionHandlers,
  systemHandlers,
)

/** The procedures of a server without knowledge. */
const procedures = rpcRoutes(ReceivedExecutionRpc.merge(ReceivedCommandRpc, BatchRpcOff)).pipe(
  Layer.provide(Layer.mergeAll(executionProcedures, commandProcedures, batchProceduresOff)),
  Layer.provide(rpcServices),
)

/** Loads the parts of the API of the systems that are on, and no others. */
const loadParts = Effect.gen(function* () {
  const { knowledge, uploads } = yield* Systems
  return {
    knowledge: Option.isNone(knowledge) ? undefined : yield* Effect.promise(() => import("./knowledge/Part.ts")),
    uploads: Option.isNone(uploads) ? undefined : yield* Effect.promise(() => import("./uploads/Part.ts")),
  }
})

/** All routes of the server, with their addresses and methods. */
export const makeRoutes = Effect.gen(function* () {
  const { knowledge, uploads } = yield* loadParts
  const { webhooks = [] } = (yield* CurrentWorkspace).config ?? {}
  const { document, page, requestTable } = describeParts(knowledge?.api, uploads?.api)
  const parts = Layer.mergeAll(
    HttpApiBuilder.layer(CoreApi).pipe(Layer.provide(groups), Layer.provide(Layer.merge(Gauges.layer, MetricsHistory.layer))),
    // The knowledge part has its own procedures at the same address.
    knowledge?.routes ?? procedures,
    uploads?.routes ?? Layer.empty,
    webhookRoutes(webhooks),
  )
  return {
    routes: Layer.mergeAll(parts.pipe(Layer.provide(refusing)), page, openApiRoute(document)),
    addresses: {
      requestTable,
      methodsAt: makeAllowedMethods(
        document,
        webhooks.map(({ name }) => [webhookPath(name), ["POST"]]),
      ),
      systemOff: makeSystemOff({ knowledge: knowledge === undefined, uploads: uploads === undefined }),
    } satisfies Addresses,
  }
})

/** The OpenAPI document of the loaded parts, and the page that shows it. */
const describeParts = (knowledge: typeof KnowledgePart | undefined, uploads: typeof UploadPart | undefined) => {
  if (knowledge === undefined) return uploads === undefined ? describeApi(CoreApi) : describeApi(CoreApi.addHttpApi(uploads))
  const knowing = CoreApi.addHttpApi(knowledge)
  return uploads === undefined ? describeApi(knowing) : describeApi(knowing.addHttpApi(uploads))
}

const describeApi = <Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<"detent", Groups>) => ({
  document: OpenApi.fromApi(api),
  page: referencePage(api),
  requestTable: makeRequestTable(api, [{ method: "POST", path: "/rpc", access: "reader" }]),
})

const openApiRoute = (document: OpenApi.OpenAPISpec) =>
  HttpRouter.use((router) => {
    const answer = HttpServerResponse.text(JSON.stringify(document), { contentType: "application/json" })
    return router.add("GET", "/openapi.json", Effect.succeed(answer))
  })

export interface Addresses {
  readonly requestTable: RequestTable
  /** The methods of an address, for the Allow header of a 405 answer. Empty for an address that has no route. */
  readonly methodsAt: (path: string) => ReadonlyArray<string>
  /** Why an address of a system that is off has no route. Undefined for other addresses. */
  readonly systemOff: (path: string) => ProblemResponse | undefined
}

/** The prefixes of the addresses of each system. */
const addressesOf: Readonly<Record<SystemOff["system"], RegExp>> = {
  knowledge: /^\/(?:api\/v1\/(?:batch|knowledge)|activities)(?:\/|$)/,
  uploads: /^\/api\/v1\/(?:uploads|upload-kinds|items)(?:\/|$)/,
}

const makeSystemOff = (off: Readonly<Record<SystemOff["system"], boolean>>): Addresses["systemOff"] => {
  const systems = (["knowledge", "uploads"] as const).filter((system) => off[system])
  return (path) => {
    const system = systems.find((one) => addressesOf[one].test(path))
    if (system === undefined) return undefined
    const { message } = new SystemOff({ system })
    return { status: 404, name: "SystemOff", title: "Not found", detail: `${message}, and restart the server` }
  }
}

/** Routes beside the API. */
const otherRoutes: ReadonlyArray<RouteMethods> = [
  ["/", ["GET"]],
  ["/docs", ["GET"]],
  ["/openapi.json", ["GET"]],
  ["/rpc", ["POST"]],
]

type RouteMethods = readonly [path: string, methods: ReadonlyArray<string>]

const makeAllowedMethods = ({ paths }: OpenApi.OpenAPISpec, further: ReadonlyArray<RouteMethods>): Addresses["methodsAt"] => {
  const described = Object.entries(paths).map(([path, item]) => [path, Object.keys(item).map((method) => method.toUpperCase())] as const)
  const known = [...otherRoutes, ...further, ...described].map(([path, methods]) => ({ parts: path.split("/"), methods }))
  return (path) => {
    const asked = path.split("/")
    return [...new Set(known.filter(({ parts }) => fits(parts, asked)).flatMap(({ methods }) => methods))].sort()
  }
}

/** A name in braces matches any one segment of the path. */
const fits = (parts: ReadonlyArray<string>, asked: ReadonlyArray<string>): boolean =>
  parts.length === asked.length && parts.every((part, index) => (part.startsWith("{") ? asked[index] !== "" : part === asked[index]))

type App<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Limits bodies to this many bytes and answers every failure with a problem. */
export const withProblems = <E>(
  app: App<E, HttpServerRequest | Scope.Scope>,
  bodyBytes: number,
  addresses: Addresses,
): App<never, HttpServerRequest | Scope.Scope> =>
  shallow(app, bodyBytes).pipe(
    Effect.provideService(MaxBodySize, ByteSize.bytes(bodyBytes)),
    Effect.map((response) => (response.status >= 400 && !isProblem(response) ? asProblem(response) : withRetryAfter(response))),
    Effect.catchCause((cause) => {
      // The request itself was not interrupted: the work that it waited for was.
      if (Cause.hasInterruptsOnly(cause))
        return Effect.as(Effect.logWarning("the work on a request was interrupted"), problemResponse(interrupted))
      return problemOfCause(cause, addresses)
    }),
  )

/** Refuses JSON bodies that are nested too deeply, for every route. The text that is read here is the one that the route decodes. */
const shallow = <E, R>(app: App<E, R>, bodyBytes: number): App<E | HttpServerError, R | HttpServerRequest> =>
  Effect.flatMap(HttpServerRequest, (request) =>
    mayNest(request, bodyBytes)
      ? Effect.flatMap(request.text, (text) => (isNestedTooDeeply(text) ? Effect.succeed(problemResponse(nestedTooDeeply)) : app))
      : app,
  )

/** Says when to retry a request that cannot be answered now. A sender of webhooks then delivers it again. */
const withRetryAfter = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
  response.status === 503 && response.headers["retry-after"] === undefined
    ? HttpServerResponse.setHeader(response, "retry-after", "2")
    : response

const isProblem = ({ headers }: HttpServerResponse.HttpServerResponse): boolean => headers["content-type"] === problemType

const asProblem = ({ status }: HttpServerResponse.HttpServerResponse) =>
  problemResponse(status === 415 ? unsupported : { ...failed, status })

const problemOfCause = (
  cause: Cause.Cause<unknown>,
  { methodsAt, systemOff }: Addresses,
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const error = Cause.squash(cause)
  if (error instanceof HttpServerError) {
    if (error.reason._tag === "RouteNotFound") {
      const { method, url } = error.reason.request
      const off = systemOff(pathOf(url))
      if (off !== undefined) return Effect.succeed(problemResponse(off))
      const methods = methodsAt(pathOf(url))
      if (!isDecodable(pathOf(url))) return Effect.succeed(problemResponse(notDecodable))
      const isThere = methods.length > 0 && !methods.includes(method)
      return Effect.succeed(problemResponse(isThere ? otherMethod(methods) : notFound))
    }
    // RequestGuard has refused a body that is too large: every body but a form with a file has a length.
    if (error.reason._tag === "RequestParseError") return Effect.succeed(problemResponse(unreadable))
  }
  // The client closed its WebSocket or sent invalid data.
  if (isSocketError(error)) return Effect.succeed(problemResponse(unreadable))
  return Effect.as(Effect.logError(`a request failed with a defect: ${explainWithFrames(error)}`), problemResponse(failed))
}

const isDecodable = (path: string): boolean => {
  try {
    return decodeURIComponent(path) !== ""
  } catch {
    // It throws for anything but percent-encoded UTF-8.
    return false
  }
}

const notFound: ProblemResponse = {
  status: 404,
  name: "RouteNotFound",
  title: "Not found",
  detail: "there is no route at this address; GET /openapi.json lists all of them",
}

const otherMethod = (methods: ReadonlyArray<string>): ProblemResponse => ({
  status: 405,
  name: "MethodNotAllowed",
  title: "Method not allowed",
  detail: `this address answers to ${methods.join(" and ")}; GET /openapi.json describes each`,
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
  detail: "the connection was closed early or the body is damaged; send it again",
}

const interrupted: ProblemResponse = {
  status: 503,
  name: "Interrupted",
  title: "The work on the request was interrupted",
  detail: "a change may have been made, so retry with the same Idempotency-Key",
  headers: { "retry-after": "1" },
}

const failed: ProblemResponse = {
  status: 500,
  name: "Failed",
  title: "It failed",
  detail: "this is an error of the server; its log has the cause",
}
