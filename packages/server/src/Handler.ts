/**
 * Serves a workspace inside of another web server: a function from a Web `Request` to a `Response`, for Hono, Next and others, and one for
 * Node's own requests, for Express and Fastify.
 *
 * ```ts
 * await using detent = await openHandler({ machines: [Order], token: process.env.DETENT_TOKEN })
 * app.all("/api/v1/*", (context) => detent.fetch(context.req.raw))
 * ```
 *
 * Requests are forwarded to the server of this package, which listens on a private socket of the same process: origin, token, role and
 * limits are checked there, as they are for `detent serve`.
 */
import { randomUUID } from "node:crypto"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import type { ReadableStream } from "node:stream/web"
import { problemBody, problemType } from "@detent/api/Problem"
import type { HandlerEngine } from "@detent/machine"
import { CurrentEngine } from "@detent/machine/internal"
import { privateFolder } from "@detent/store/internal"
import type { Config } from "@detent/workspace/Config"
import { Workspace, type WorkspaceOptions } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { type SocketOptions, serveOnSocket } from "./Serve.ts"
import { type ProblemResponse, refuse } from "./serve/ProblemResponse.ts"

export interface HandlerOptions extends SocketOptions {
  /** The path that the other server mounts the handler at, such as `/detent`. It is not part of the addresses of Detent. Default: none. */
  readonly path?: string
}

/** A workspace inside of another web server. */
export interface Handler {
  /** Answers a Web request. Never rejects: a request that cannot be answered gets a problem. */
  readonly fetch: (request: Request) => Promise<Response>
  /** Answers a request of Node's own server, whose body nothing has read. */
  readonly node: (request: Http.IncomingMessage, response: Http.ServerResponse) => void
}

/** Serves the workspace in the context by a handler, until the scope closes. */
export const makeHandler = (options: HandlerOptions = {}) =>
  Effect.gen(function* () {
    const { path: prefix = "", ...others } = options
    const socket = yield* socketPath
    yield* Layer.build(serveOnSocket(socket, others))
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Http.Agent({ keepAlive: true, maxFreeSockets: 64 })),
      (agent) => Effect.sync(() => agent.destroy()),
    )
    return handlerOf({ socket, agent, prefix: prefix.replace(/\/$/, "") })
  })

/** A path for a socket that no other user of the machine can open. */
const socketPath =
  process.platform === "win32"
    ? Effect.sync(() => `\\\\.\\pipe\\detent-${randomUUID()}`)
    : Effect.map(
        Effect.acquireRelease(
          Effect.promise(async () => {
            const folder = await mkdtemp(join(tmpdir(), "detent-"))
            await chmod(folder, privateFolder)
            return folder
          }),
          (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true })),
        ),
        (folder) => join(folder, "http"),
      )

interface Route {
  readonly socket: string
  readonly agent: Http.Agent
  readonly prefix: string
}

const handlerOf = (route: Route): Handler => ({
  fetch: (request) => forwardWeb(route, request),
  node: (request, response) => forwardNode(route, request, response),
})

/** The address below the prefix; undefined for another one. */
const pathBelow = (prefix: string, path: string): string | undefined => {
  if (prefix === "") return path
  if (!path.startsWith(prefix)) return undefined
  const rest = path.slice(prefix.length)
  if (rest === "" || rest.startsWith("?")) return `/${rest}`
  return rest.startsWith("/") ? rest : undefined
}

/** Headers of one connection, which are not forwarded (RFC 9110, 7.6.1). */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

const forwardWeb = async ({ socket, agent, prefix }: Route, request: Request): Promise<Response> => {
  const url = new URL(request.url)
  const path = pathBelow(prefix, url.pathname + url.search)
  if (path === undefined) return problemOf(notMounted(prefix))
  const headers: Record<string, string> = { host: url.host }
  for (const [name, value] of request.headers) if (!ofConnection.has(name)) headers[name] = value
  const body = await bodyOf(request, headers)
  return new Promise((resolve) => {
    const forwarded = Http.request({ socketPath: socket, agent, path, method: request.method, headers, signal: request.signal })
    forwarded.on("response", (response) => resolve(webResponse(response)))
    forwarded.on("error", () => resolve(problemOf(notAnswered)))
    if (body === undefined) forwarded.end()
    else if (body instanceof Uint8Array) forwarded.end(body)
    // A body that ends early ends the forwarded request, which then fails.
    else body.on("error", (error) => forwarded.destroy(error)).pipe(forwarded)
  })
}

/**
 * The body of a Web request. A request that a program has made may have a body without a length, which the server refuses: a short one is
 * read first, and gets its length.
 */
const bodyOf = async (request: Request, headers: Record<string, string>): Promise<Uint8Array | Readable | undefined> => {
  if (request.body === null) return undefined
  const isForm = headers["content-type"]?.startsWith("multipart/form-data") === true
  if (headers["content-length"] !== undefined || isForm) return Readable.fromWeb(request.body as ReadableStream)
  const chunks: Array<Uint8Array> = []
  let length = 0
  const reader = (request.body as ReadableStream<Uint8Array>).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    chunks.push(read.value)
    length += read.value.length
    if (length <= shortBody) continue
    // The server refuses it by its length, before it reads it.
    await reader.cancel()
    break
  }
  headers["content-length"] = String(length)
  return Buffer.concat(chunks)
}

/** In bytes. Longer than any body of JSON that a server takes by default. */
const shortBody = 8_000_000

const withoutBody: ReadonlySet<number> = new Set([101, 204, 205, 304])

const webResponse = (response: Http.IncomingMessage): Response => {
  const { statusCode: status = 502, rawHeaders } = response
  const headers = new Headers()
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (!ofConnection.has(name.toLowerCase())) headers.append(name, rawHeaders[index + 1] as string)
  }
  if (!withoutBody.has(status)) return new Response(Readable.toWeb(response) as BodyInit, { status, headers })
  response.resume()
  return new Response(null, { status, headers })
}

const forwardNode = ({ socket, agent, prefix }: Route, request: Http.IncomingMessage, response: Http.ServerResponse): void => {
  const { url = "/", method, rawHeaders } = request
  const path = pathBelow(prefix, url)
  if (path === undefined) {
    refuse(response, notMounted(prefix))
    return
  }
  const isChunked = request.headers["transfer-encoding"] !== undefined
  // As they came: a repeated header stays repeated.
  const headers = rawHeaders.flatMap((name, index) =>
    index % 2 === 1 || ofConnection.has(name.toLowerCase()) ? [] : [name, rawHeaders[index + 1] as string],
  )
  const forwarded = Http.request({
    socketPath: socket,
    agent,
    path,
    method,
    headers: isChunked ? [...headers, "transfer-encoding", "chunked"] : headers,
  })
  forwarded.on("response", (answer) => {
    response.writeHead(
      answer.statusCode ?? 502,
      answer.rawHeaders.filter((_, index) => !ofConnection.has((answer.rawHeaders[index - (index % 2)] as string).toLowerCase())),
    )
    answer.pipe(response)
    answer.on("error", () => response.destroy())
  })
  forwarded.on("error", () => {
    if (response.headersSent) response.destroy()
    else refuse(response, notAnswered)
  })
  // The client has left.
  response.on("close", () => forwarded.destroy())
  request.on("error", (error) => forwarded.destroy(error)).pipe(forwarded)
}

const problemOf = (problem: ProblemResponse): Response =>
  new Response(problemBody(problem), { status: problem.status, headers: { "content-type": problemType, ...problem.headers } })

const notMounted = (prefix: string): ProblemResponse => ({
  status: 404,
  name: "RouteNotFound",
  title: "Not found",
  detail: `this address is not below ${prefix}; give the handler the path that the other server mounts it at`,
})

const notAnswered: ProblemResponse = {
  status: 503,
  name: "Stopping",
  title: "The server is being stopped",
  detail: "the request may not have arrived; retry in a moment, with the same Idempotency-Key",
  headers: { "retry-after": "2" },
}

export interface OpenHandlerOptions
  extends Omit<HandlerOptions, "token" | "readToken">,
    Partial<Pick<WorkspaceOptions, "data" | "database" | "role" | "cluster">> {
  /** The machines of the workspace. */
  readonly machines?: NonNullable<Config["machines"]>
  /** A whole configuration, from `defineConfig`, in place of `machines`. */
  readonly config?: Config
  /** The token of the role `operate`. Without one, the handler answers requests to `localhost` only. */
  readonly token?: string | undefined
  /** The token of the role `read`. */
  readonly readToken?: string | undefined
}

/** An opened workspace inside of another web server. */
export interface OpenedHandler extends Handler, AsyncDisposable {
  /** Starts instances, sends events and runs workflows from the code of the other server. Undefined where the role is `observe`. */
  readonly engine: HandlerEngine | undefined
  /** Ends requests in flight, hands running work back and closes the database. */
  close(): Promise<void>
}

/** Opens a workspace and serves it by a handler. Rejects where the workspace cannot be opened, or a token is too weak. */
export const openHandler = async (options: OpenHandlerOptions = {}): Promise<OpenedHandler> => {
  const { machines = [], config = { machines }, data, database, role = "work", cluster, token, readToken, ...others } = options
  const scope = Scope.makeUnsafe()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= Effect.runPromise(Scope.close(scope, Exit.void))
    return closing
  }
  const opening = Effect.gen(function* () {
    const workspace = Workspace.open({
      role,
      config,
      ...(data === undefined ? {} : { data }),
      ...(database === undefined ? {} : { database }),
      ...(cluster === undefined ? {} : { cluster }),
    })
    const services = yield* Layer.buildWithScope(workspace, scope)
    const tokens = { token: redacted(token), readToken: redacted(readToken) }
    const handler = yield* Effect.provide(Scope.provide(makeHandler({ ...others, ...tokens }), scope), services)
    return { handler, engine: yield* Effect.provide(CurrentEngine, services) }
  })
  try {
    const { handler, engine } = await Effect.runPromise(opening)
    return { ...handler, engine, close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

const redacted = (token: string | undefined) => (token === undefined ? undefined : Redacted.make(token))
