/** Refuses a request before routing: writes a problem directly to the connection. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { problemBody, problemType } from "@detent/api/Problem"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { commonHeaders } from "./ResponseHeaders.ts"

export interface ProblemResponse {
  readonly status: number
  readonly name: string
  readonly title: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The problem as the response of a route. */
export const problemResponse = (refusal: ProblemResponse): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(problemBody(refusal), { status: refusal.status, contentType: problemType, headers: refusal.headers ?? {} })

const headersOf = (refusal: ProblemResponse, body: string): Record<string, string> => ({
  "content-type": problemType,
  "content-length": String(Buffer.byteLength(body)),
  ...refusal.headers,
})

/** At most this many bytes of a refused request are read. */
const discardedBytes = 16_000_000

export const refuse = (response: ServerResponse, refusal: ProblemResponse) => {
  if (response.headersSent || response.writableEnded) return
  const body = problemBody(refusal)
  response.writeHead(refusal.status, headersOf(refusal, body))
  response.end(body)
}

/** Reads and discards the rest of a request: a client that is still sending would not see the answer if the connection closed. */
export const discardRest = (request: IncomingMessage) => {
  if (request.complete) return
  let bytes = 0
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > discardedBytes) request.destroy()
  })
}

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  408: "Request Timeout",
  413: "Content Too Large",
  421: "Misdirected Request",
  431: "Request Header Fields Too Large",
  503: "Service Unavailable",
}

/** The same without a response object: for a request that could not be parsed, or a WebSocket upgrade. */
export const refuseSocket = (socket: Duplex, refusal: ProblemResponse) => {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const body = problemBody(refusal)
  const headers = Object.entries({ ...Object.fromEntries(commonHeaders), ...headersOf(refusal, body), connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  socket.end(`HTTP/1.1 ${refusal.status} ${statusTexts[refusal.status] ?? "Error"}\r\n${headers.join("\r\n")}\r\n\r\n${body}`)
}
