/**
 * Sends one request and hands out its answer, over connections that are kept open. The default is Node's own client: a request costs it
 * less than one of `fetch`, and the body of a request is sent without being copied. An HttpClient that the caller provides is used
 * instead of it.
 */
import { type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import { type Duplex, pipeline, type Readable } from "node:stream"
import { createBrotliDecompress, createUnzip } from "node:zlib"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as HttpClient from "effect/unstable/http/HttpClient"
import * as HttpClientRequest from "effect/unstable/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/unstable/http/HttpClientResponse"
import { innermostReason } from "../Describe.ts"

export type Headers = Readonly<Record<string, string>>

export interface ObjectRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  /** With the query, percent-encoded. */
  readonly url: string
  readonly headers: Headers
  readonly body?: Uint8Array
}

/** No answer, or not all of it: the reason in the words of the network. */
export class ConnectionBroken extends Data.TaggedError("ConnectionBroken")<{ readonly message: string }> {}

export type ByteStream = Stream.Stream<Uint8Array, ConnectionBroken>

/** An answer whose body has not been read: by one of the two, once. */
export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly stream: ByteStream
  /** Fails on a body of more bytes than this. */
  readonly whole: (longest: number) => Effect.Effect<Uint8Array, ConnectionBroken>
}

/** Redirects are not followed. Bodies that are packed according to `content-encoding` are unpacked. */
export type Transport = (request: ObjectRequest) => Effect.Effect<Received, ConnectionBroken>

const broken = (error: unknown) => new ConnectionBroken({ message: innermostReason(error) })

/** By Node's client. A connection on which nothing comes or goes for `silenceMillis` breaks, also in the middle of an answer. */
export const makeNodeTransport =
  (silenceMillis: number): Transport =>
  ({ method, url, headers, body }) =>
    Effect.callback((resume) => {
      const address = new URL(url)
      const send = address.protocol === "http:" ? requestHttp : requestHttps
      const length =
        body === undefined && (method === "GET" || method === "HEAD") ? {} : { "content-length": String(body?.byteLength ?? 0) }
      let answer: IncomingMessage | undefined
      const sent = send(address, { method, headers: { ...headers, ...length }, timeout: silenceMillis }, (incoming) => {
        answer = incoming
        const content = method === "HEAD" ? incoming : unpacked(incoming, incoming.headers["content-encoding"])
        resume(
          Effect.succeed({
            status: incoming.statusCode ?? 0,
            headers: singleValues(incoming.headers),
            stream: Stream.fromAsyncIterable<Uint8Array, ConnectionBroken>(content, broken),
            whole: (longest) => wholeOf(content, longest),
          }),
        )
      })
      sent.on("timeout", () => {
        // The connection waits for a reader that is slow.
        if (answer !== undefined && answer.readableLength > 0) sent.socket?.setTimeout(silenceMillis)
        else (answer ?? sent).destroy(new Error("nothing came any more"))
      })
      // After the answer has begun, its reader sees what breaks.
      sent.on("error", (error) => resume(Effect.fail(broken(error))))
      sent.end(body)
      return Effect.sync(() => sent.destroy())
    })

/** Five minutes, as long as those of `fetch`. */
export const nodeTransport = makeNodeTransport(300_000)

/** What is packed in another way, which only its writer knows, stays as it is. */
const unpacked = (incoming: Readable, encoding: string | undefined): Readable => {
  const unpacking = unpackers[encoding ?? "identity"]?.()
  // A failure of one of the two destroys the other, so that its reader sees it.
  return unpacking === undefined ? incoming : pipeline(incoming, unpacking, () => {})
}

const unpackers: Readonly<Record<string, () => Duplex>> = { gzip: createUnzip, deflate: createUnzip, br: createBrotliDecompress }

const singleValues = (headers: Readonly<Record<string, string | Array<string> | undefined>>): Received["headers"] => {
  const single: Record<string, string | undefined> = {}
  for (const name in headers) {
    const value = headers[name]
    single[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return single
}

const wholeOf = (content: Readable, longest: number): Effect.Effect<Uint8Array, ConnectionBroken> =>
  Effect.callback((resume) => {
    const pieces: Array<Uint8Array> = []
    let size = 0
    content.on("data", (piece: Uint8Array) => {
      size += piece.byteLength
      if (size > longest) content.destroy(new Error("the answer is too long"))
      else pieces.push(piece)
    })
    content.on("end", () => resume(Effect.succeed(joined(pieces, size))))
    content.on("error", (error) => resume(Effect.fail(broken(error))))
    const endedEarly = () => resume(Effect.fail(new ConnectionBroken({ message: "the answer ended early" })))
    content.on("close", endedEarly)
    if (content.destroyed) endedEarly()
    return Effect.sync(() => content.destroy())
  })

/** By an HttpClient of the caller. No span is made of a request. */
export const clientTransport =
  (client: HttpClient.HttpClient): Transport =>
  ({ method, url, headers, body }) => {
    const request = HttpClientRequest.make(method)(url).pipe(
      HttpClientRequest.setHeaders(headers),
      body === undefined ? (same) => same : HttpClientRequest.bodyUint8Array(body, headers["content-type"] ?? "application/octet-stream"),
    )
    return client.execute(request).pipe(
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
      Effect.map((response): Received => {
        const stream = streamOf(response)
        return { status: response.status, headers: response.headers, stream, whole: (longest) => collected(stream, longest) }
      }),
      Effect.mapError(broken),
    )
  }

/** An answer to HEAD has no body, nor has one without content. */
const streamOf = (response: HttpClientResponse): ByteStream =>
  Stream.catch(response.stream, (error) => (error.reason._tag === "EmptyBodyError" ? Stream.empty : Stream.fail(broken(error))))

const collected = (stream: ByteStream, longest: number): Effect.Effect<Uint8Array, ConnectionBroken> =>
  Effect.suspend(() => {
    const pieces: Array<Uint8Array> = []
    let size = 0
    return Effect.map(
      Stream.runForEach(stream, (piece) => {
        size += piece.byteLength
        if (size > longest) return Effect.fail(new ConnectionBroken({ message: "the answer is too long" }))
        pieces.push(piece)
        return Effect.void
      }),
      () => joined(pieces, size),
    )
  })

/** The pieces as one array. */
export const joined = (pieces: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only
  const all = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}
