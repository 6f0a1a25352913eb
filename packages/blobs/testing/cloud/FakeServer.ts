/**
 * The shared part of the fake cloud services: a server on loopback that passes complete requests to a protocol, and fault injection
 * between the protocol and the wire. A fault plan picks the fault of each request, by a script or at random.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

export interface FakeRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly target: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

export interface FakeReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

export type Fault =
  /** The server responds with this status and does not execute the request. */
  | { readonly status: number; readonly retryAfter?: number }
  /** The connection breaks before the server executes the request. */
  | "reset before"
  /** The server executes the request, and the connection breaks before the response. */
  | "reset after"
  /** The connection breaks after this many bytes of the response body. */
  | { readonly cutAfter: number }
  /** One byte of the response body is changed. */
  | "damage"
  | { readonly lateByMillis: number }
  /** A fault that only one of the protocols implements. */
  | { readonly own: string }

export type FaultPlan = (request: FakeRequest, index: number) => Fault | undefined

export interface FakeServer {
  readonly url: string
  readonly port: number
  /** Requests so far, as `PUT /bucket/key?query`. */
  readonly requests: Array<string>
  plan: FaultPlan
  readonly close: () => Promise<void>
}

export const startServer = async (
  answer: (request: FakeRequest, fault: string | undefined) => FakeReply,
  failing: (status: number) => FakeReply,
  port = 0,
): Promise<FakeServer> => {
  const requests: Array<string> = []
  const server = createServer((incoming, outgoing) => {
    void serve(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : new Error(String(error))))
  })
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const request = await received(incoming)
    requests.push(`${request.method} ${request.target}`)
    const fault = fake.plan(request, requests.length - 1)
    if (fault === "reset before") return incoming.socket.destroy()
    if (typeof fault === "object" && "lateByMillis" in fault) await sleep(fault.lateByMillis)
    if (typeof fault === "object" && "status" in fault) {
      const refusal = failing(fault.status)
      const wait = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) }
      return send(outgoing, { ...refusal, headers: { ...refusal.headers, ...wait } }, request.method)
    }
    const reply = answer(request, typeof fault === "object" && "own" in fault ? fault.own : undefined)
    if (fault === "reset after") return incoming.socket.destroy()
    if (fault === "damage") return send(outgoing, damaged(reply), request.method)
    if (typeof fault === "object" && "cutAfter" in fault) return cut(outgoing, incoming.socket, reply, fault.cutAfter)
    return send(outgoing, reply, request.method)
  }
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  const { port: listening } = server.address() as AddressInfo
  const fake: FakeServer = {
    url: `http://127.0.0.1:${listening}`,
    port: listening,
    requests,
    plan: () => undefined,
    close: () => closed(server),
  }
  return fake
}

/** In milliseconds since the Unix epoch. */
export const nowMillis = (): number => performance.timeOrigin + performance.now()

const received = async (incoming: IncomingMessage): Promise<FakeRequest> => {
  const pieces: Array<Buffer> = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  const target = incoming.url ?? "/"
  const at = target.indexOf("?")
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : value]),
  )
  return {
    method: incoming.method ?? "GET",
    target,
    path: at === -1 ? target : target.slice(0, at),
    query: new URLSearchParams(at === -1 ? "" : target.slice(at)),
    headers,
    body: Buffer.concat(pieces),
  }
}

const bytesOf = ({ body = "" }: FakeReply): Buffer =>
  typeof body === "string" ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)

const send = (outgoing: ServerResponse, reply: FakeReply, method: string): void => {
  const body = bytesOf(reply)
  const length = reply.status === 204 ? {} : { "content-length": String(body.byteLength) }
  outgoing.writeHead(reply.status, { ...length, ...reply.headers })
  outgoing.end(method === "HEAD" ? undefined : body)
}

const damaged = (reply: FakeReply): FakeReply => {
  const body = Buffer.from(bytesOf(reply))
  if (body.length > 0) body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1
  return { ...reply, body }
}

const cut = (outgoing: ServerResponse, socket: Socket, reply: FakeReply, after: number): void => {
  const body = bytesOf(reply)
  outgoing.writeHead(reply.status, { "content-length": String(body.byteLength), ...reply.headers })
  outgoing.write(body.subarray(0, after), () => setImmediate(() => socket.destroy()))
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

/** On average, one request in `every` gets one of the faults. The same seed gives the same sequence. */
export const byChance = (faults: ReadonlyArray<Fault>, every: number, seed: number): FaultPlan => {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
  return () => (next() < 1 / every ? faults[Math.floor(next() * faults.length)] : undefined)
}

/** The faults in order, one per request, then none. */
export const inTurn = (...faults: ReadonlyArray<Fault | undefined>): FaultPlan => {
  let index = 0
  return () => faults[index++]
}
