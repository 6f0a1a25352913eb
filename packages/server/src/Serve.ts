/**
 * Serves a workspace on one port.
 *
 * ```ts
 * const server = serve({ port: 4400 }).pipe(Layer.provide(Workspace.open({ role: "work" })))
 * Layer.launch(server)
 * ```
 */

import * as Http from "node:http"
import type { AddressInfo, ListenOptions } from "node:net"
import { forkLoop } from "@detent/durable"
import { explainWithFrames } from "@detent/machine/internal"
import { CurrentWorkspace } from "@detent/workspace/CurrentWorkspace"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeWS from "@effect/platform-node/NodeWS"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { makeRoutes, withProblems } from "./Application.ts"
import { InstanceTokenReader } from "./access/InstanceTokens.ts"
import { NamedTokens } from "./access/NamedTokens.ts"
import { InstanceFeed } from "./instances/InstanceFeed.ts"
import { LiveFeed } from "./live/LiveFeed.ts"
import { compressed } from "./serve/Compression.ts"
import { LiveStreams } from "./serve/live/LiveStreams.ts"
import { type ProblemResponse, refuse, refuseSocket } from "./serve/ProblemResponse.ts"
import { ConsolePage, consoleFolder } from "./serve/page/ConsolePage.ts"
import { GuidePage, guideFolder } from "./serve/page/GuidePage.ts"
import { withReferenceHeaders } from "./serve/page/ReferencePage.ts"
import { pathOf, RequestGuard } from "./serve/RequestGuard.ts"
import { busy, RequestLimits } from "./serve/RequestLimits.ts"
import { normaliseTarget } from "./serve/RequestTarget.ts"
import { applicationHeaders, commonHeaders } from "./serve/ResponseHeaders.ts"
import { RpcLimits } from "./serve/RpcLimits.ts"
import { checkAccess, checkOrigins, defaultLimits, type Limits, millisOf, type ServeOptions } from "./serve/ServeOptions.ts"
import { Sessions } from "./serve/Sessions.ts"
import { Stopping } from "./serve/Stopping.ts"
import { RequestGrants, Tokens } from "./serve/Tokens.ts"

const routerConfig = {
  /** Ids have up to 500 characters, each of which may take twelve when percent-encoded. The router's default is 100. */
  maxParamLength: 6000,
  // `normaliseTarget` has brought the path into the one form that a route has.
  caseSensitive: true,
  ignoreDuplicateSlashes: false,
  ignoreTrailingSlash: false,
}

export { type Limits, OriginInvalid, type ServeOptions, TokenNeeded, TokenWeak } from "./serve/ServeOptions.ts"

export const defaultPort = 4400

/** The address of the server. */
export class Server extends Context.Service<Server, { readonly url: string; readonly host: string; readonly port: number }>()(
  "@detent/server/Server",
) {}

/** The port is in use, or the process may not open it. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Int,
  cause: Schema.Defect(),
}) {
  override get message() {
    const problem = this.cause instanceof Error ? this.cause.message : String(this.cause)
    return `cannot listen on ${this.host}:${this.port}: ${problem}; stop the process that uses the port, or choose another with --port`
  }
}

/** Serves the workspace in the context until the scope closes. */
export const serve = (options: ServeOptions = {}) => Layer.provide(Layer.effect(Server, start(options)), partsOf(options))

/** Serves the workspace in the context on a Unix domain socket, or a named pipe of Windows, until the scope closes. */
export const serveOnSocket = (path: string, options: SocketOptions) =>
  Layer.provide(Layer.effect(Server, start(options, path)), partsOf(options))

/** The options of a server that another server forwards requests to. */
export type SocketOptions = Omit<ServeOptions, "host" | "port">

const partsOf = (options: ServeOptions) =>
  Layer.merge(InstanceFeed.layer, LiveFeed.layer).pipe(
    Layer.provideMerge(Layer.merge(accessOf(options), NamedTokens.layer)),
    Layer.provideMerge(Layer.mergeAll(LiveStreams.layer, Stopping.layer, RequestGrants.layer, NodeHttpServer.layerHttpServices)),
  )

const accessOf = ({ token, readToken }: ServeOptions) => {
  const tokens = { operate: token, read: readToken }
  return Layer.merge(Tokens.layer(tokens), Sessions.layer(tokens))
}

const start = (options: ServeOptions, socketPath?: string) =>
  Effect.gen(function* () {
    const { host = "127.0.0.1", port = defaultPort, token, readToken } = options
    const workspace = yield* CurrentWorkspace
    const limits: Limits = { ...defaultLimits, ...workspace.config?.limits?.http, ...options.limits }
    const given = [token, readToken].filter((one) => one !== undefined)
    yield* Effect.fromResult(checkAccess(host, given.map(Redacted.value)))
    const { bodyBytes, uploadBytes } = limits
    const page = new ConsolePage(options.console ?? consoleFolder())
    const guide = new GuidePage(options.guide ?? guideFolder())
    const grants = yield* RequestGrants
    const clock = yield* Clock.Clock
    const { routes, addresses } = yield* makeRoutes
    const { requestTable } = addresses
    const access = new RequestGuard({
      tokens: yield* Tokens,
      namedTokens: yield* NamedTokens,
      instanceTokens: new InstanceTokenReader(token, () => clock.currentTimeMillisUnsafe()),
      sessions: yield* Sessions,
      grants,
      bodyBytes,
      uploadBytes,
      requestTable,
      isPage: (request) => page.has(request) || guide.has(request),
      origins: yield* Effect.fromResult(checkOrigins(options.origins ?? [])),
      observes: workspace.role === "observe",
    })
    const requests = new RequestLimits(
      {
        requests: limits.requests,
        streams: limits.streams,
        unauthenticatedRequests: limits.unauthenticatedRequests,
        requestSeconds: Math.ceil(millisOf(limits.requestTimeout) / 1000),
        unauthenticatedSeconds: Math.ceil(millisOf(limits.unauthenticatedTimeout) / 1000),
        answerSeconds: Math.ceil(millisOf(limits.answerTimeout) / 1000),
      },
      requestTable,
    )
    // The scope of requests in flight: it closes after the server has stopped listening and waited for them.
    const scope = yield* Scope.fork(yield* Effect.scope)
    const routing = HttpRouter.toHttpEffect(Layer.provide(routes, RpcLimits.layer(limits)))
    const routed = withProblems(yield* Effect.provideService(routing, HttpRouter.RouterConfig, routerConfig), bodyBytes, addresses)
    const app = compressed(withReferenceHeaders(routed))
    const answer = yield* NodeHttpServer.makeHandler(app, { scope })
    // Without synchronous events, a client that sends many messages at once does not keep other clients waiting for all of them.
    const sockets = new NodeWS.WebSocketServer({ noServer: true, maxPayload: bodyBytes, allowSynchronousEvents: false })
    const upgrade = yield* NodeHttpServer.makeUpgradeHandler(Effect.succeed(sockets), app, { scope })
    const stopping = yield* Stopping
    /** Answers to tokens that expire. A stream is closed then: its client connects again, and finds that it needs another token. */
    const expiring = new Map<Http.ServerResponse, number>()

    const server = Http.createServer({
      headersTimeout: millisOf(limits.headersTimeout),
      // No limit here, since uploads may take long: RequestLimits limits the time of bodies.
      requestTimeout: 0,
      keepAliveTimeout: 30_000,
      connectionsCheckingInterval: 2000,
    })
    server.maxConnections = limits.connections
    server.on("request", (request, response) => {
      response.setHeaders(commonHeaders)
      if (access.isOfApplication(request)) response.setHeaders(applicationHeaders(request))
      const refusal = stopping.isStopping
        ? leaving
        : (normaliseTarget(request) ?? access.refusal(request) ?? requests.enter(request, response, grants.get(request) !== undefined))
      if (refusal !== undefined) {
        refuse(response, refusal)
        if (!request.complete) requests.discard(request, response)
      } else if (pathOf(request.url ?? "") === "/rpc/socket") refuse(response, upgradeNeeded)
      else if (request.method === "OPTIONS" && access.isOfApplication(request)) response.writeHead(204).end()
      else if (!guide.answer(request, response) && !page.answer(request, response)) {
        const expiresAt = grants.get(request)?.expiresAt
        if (expiresAt !== undefined) {
          expiring.set(response, expiresAt)
          response.once("close", () => expiring.delete(response))
        }
        answer(request, response)
      }
    })
    server.on("upgrade", (request, socket, head) => {
      // Node removes its own listener before this event. The error of a socket without a listener would end the process.
      socket.on("error", () => socket.destroy())
      const isFull = sockets.clients.size >= limits.streams
      const refusal = stopping.isStopping
        ? leaving
        : (normaliseTarget(request) ?? access.refusal(request) ?? (isFull ? busy : wrongUpgrade(request)))
      if (refusal !== undefined) return refuseSocket(socket, refusal)
      upgrade(request, socket, head)
    })
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => refuseSocket(socket, misread(error)))

    const enforceLimits = Effect.sync(() => {
      requests.tick()
      const now = clock.currentTimeMillisUnsafe()
      for (const [response, expiresAt] of expiring) if (expiresAt <= now) response.destroy()
      for (const client of sockets.clients) if (client.bufferedAmount > unreadBytes) client.terminate()
    })
    yield* forkLoop("the limits of requests", Effect.delay(enforceLimits, "1 second"))
    const streams = yield* LiveStreams
    const run = Effect.runForkWith(yield* Effect.context<never>())
    // Emitted while it listens, such as when no file descriptor is free for a connection. Open connections remain.
    server.on("error", (cause) => run(Effect.logError(`the server could not accept a connection: ${explainWithFrames(cause)}`)))
    const listening = socketPath === undefined ? { host, port, backlog: 4096 } : { path: socketPath, backlog: 4096 }
    yield* Effect.acquireRelease(listen(server, listening), () =>
      Effect.gen(function* () {
        stopping.begin()
        server.close()
        server.closeIdleConnections()
        streams.end()
        for (const client of sockets.clients) client.close(1001, "the server is being stopped")
        yield* Effect.timeoutOption(
          Effect.callback<void>((resume) => requests.whenEmpty(() => resume(Effect.void))),
          limits.stopTimeout,
        )
        server.closeAllConnections()
      }),
    )
    const address = server.address() as AddressInfo | string
    const bound = typeof address === "string" ? 0 : address.port
    return { host, port: bound, url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}` }
  })

/** A WebSocket whose client leaves more unread bytes than this is closed. */
const unreadBytes = 8_000_000

const listen = (server: Http.Server, options: ListenOptions): Effect.Effect<void, ListenFailed> =>
  Effect.callback<void, ListenFailed>((resume) => {
    const { path, host = path ?? "", port = 0 } = options
    const failed = (cause: unknown) => resume(Effect.fail(new ListenFailed({ host, port, cause })))
    server.once("error", failed)
    server.listen(options, () => {
      server.off("error", failed)
      resume(Effect.void)
    })
  })

const leaving: ProblemResponse = {
  status: 503,
  name: "Stopping",
  title: "The server is being stopped",
  detail: "nothing was done; retry in a moment, with the same Idempotency-Key",
  headers: { "retry-after": "2" },
}

/** Refuses upgrades at other addresses: they would bypass the limits of requests and streams. */
const wrongUpgrade = ({ url = "" }: Http.IncomingMessage): ProblemResponse | undefined =>
  pathOf(url) === "/rpc/socket" ? undefined : noSocket

const noSocket: ProblemResponse = {
  status: 400,
  name: "NoWebSocket",
  title: "This address is not a WebSocket",
  detail: "send the request without an Upgrade header; the WebSocket is at /rpc/socket",
}

const upgradeNeeded: ProblemResponse = {
  status: 426,
  name: "UpgradeNeeded",
  title: "A WebSocket is required",
  detail: "open this address as a WebSocket, or POST to /rpc",
  headers: { upgrade: "websocket" },
}

/** The refusal of a request that Node could not parse. */
const misread = ({ code }: NodeJS.ErrnoException): ProblemResponse => {
  if (code === "HPE_HEADER_OVERFLOW") {
    return { status: 431, name: "HeadersTooLarge", title: "The headers are too large", detail: "send less than 16 kB of headers" }
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return { status: 408, name: "RequestTimeout", title: "The request did not arrive in time", detail: "send the headers without delay" }
  }
  return { status: 400, name: "NotHttp", title: "The request cannot be read", detail: "the request is not valid HTTP/1.1" }
}
