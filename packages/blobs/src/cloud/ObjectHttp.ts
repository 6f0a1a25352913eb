/**
 * Requests to an object store, with retries. Retries are idempotent: every write carries a precondition or belongs to an upload
 * session, so a second copy of a request changes nothing. Throttled and failed requests are retried after an exponential backoff with
 * jitter, or after the store's `retry-after`. No error contains a header of the request.
 */
import { type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import { type Duplex, pipeline, type Readable } from "node:stream"
import { createBrotliDecompress, createUnzip } from "node:zlib"
import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  type BlobInfo,
  type Generation,
  type StorageError,
  StorageFailed,
  type StorageFolder,
  StorageFull,
  StorageUri,
} from "../storage/Storage.ts"
import type { CredentialsRefused } from "./CredentialSource.ts"

/** The address and operation of the request, for errors. */
export interface Target {
  readonly uri: StorageUri | StorageFolder
  readonly operation: StorageFailed["operation"]
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
  /** An earlier attempt may have taken effect: its response was lost, or reported a failure of the store. */
  readonly isUncertain: boolean
}

/** A failure as the store reports it. */
export interface Problem {
  readonly code: string
  readonly message: string
}

export interface RetryOptions {
  /** Maximum number of attempts per request. Default: 7. */
  readonly attempts?: number
  /** The first wait; each later one is twice as long. Default: 250 milliseconds. */
  readonly base?: Duration.Input
  /** The longest wait, even if the store asks for more. Default: 20 seconds. */
  readonly longest?: Duration.Input
  /** Timeout of one request until its response begins. Default: two minutes. */
  readonly timeout?: Duration.Input
}

export interface ObjectHttpOptions {
  readonly retry?: RetryOptions | undefined
  /** Returns the headers with the credentials for the request. Fails with the reason and the next step. */
  readonly authorize: (request: ObjectRequest, nowMillis: number) => Effect.Effect<Headers, CredentialsRefused>
  /** Drops the credentials that `authorize` has cached, after the store has refused them as expired. */
  readonly forget: Effect.Effect<void>
  readonly isExpired: (status: number, problem: Problem) => boolean
  /** Reads the store's error code and message from the body of a failure. */
  readonly problemOf: (body: Uint8Array) => Problem
  /** The next step after a refusal: `unauthorized` if credentials are missing or expired. */
  readonly nextSteps: {
    readonly unauthorized: string
    readonly forbidden: string
    readonly missing: string
    /** The bucket is in another region or store. */
    readonly elsewhere: string
    /** The connection cannot be established, or breaks. */
    readonly unreachable: string
  }
  readonly client?: HttpClient.HttpClient | undefined
}

export interface ObjectHttp {
  /** The response, with any status that is not retried. */
  readonly send: (target: Target, request: ObjectRequest) => Effect.Effect<Answer, StorageError>
  /** Like `send`, for a response whose body is streamed. The body of a status of 300 or above is read whole into `body`. */
  readonly open: (target: Target, request: ObjectRequest) => Effect.Effect<Answer & Pick<Received, "stream" | "whole">, StorageError>
  /** Waits after failed attempt `attempt` (from 1 on), for retries outside of a single request. */
  readonly backoff: (attempt: number, retryAfterMillis?: number) => Effect.Effect<void>
  readonly attempts: number
  /** The error for a status that the caller did not expect. */
  readonly failure: (target: Target, answer: Answer) => StorageError
  readonly problemOf: (answer: Answer) => Problem
}

/** Maximum size of a response body that is not content: listings and errors. */
const longestAnswer = 64_000_000

const isTransient = (status: number): boolean => status === 408 || status === 429 || status >= 500

export const makeObjectHttp = (options: ObjectHttpOptions): ObjectHttp => {
  const { attempts = 7, base = "250 millis", longest = "20 seconds", timeout = "2 minutes" } = options.retry ?? {}
  const [baseMillis, longestMillis] = [Duration.toMillis(base), Duration.toMillis(longest)]

  const backoff = (attempt: number, retryAfterMillis?: number) =>
    Effect.flatMap(Random.next, (chance) => {
      const wait = Math.min(longestMillis, baseMillis * 2 ** (attempt - 1)) * (0.5 + chance / 2)
      return Effect.sleep(Math.min(longestMillis, Math.max(wait, retryAfterMillis ?? 0)))
    })

  const failed = ({ uri, operation }: Target, retryable: boolean, problem: string) =>
    new StorageFailed({ uri, operation, retryable, cause: new Error(problem) })

  const noAccess = ({ uri, operation }: Target, problem: string) =>
    new StorageFailed({ uri, operation, retryable: false, noAccess: true, cause: new Error(problem) })

  const problemOf = (answer: Answer) => options.problemOf(answer.body)

  const failure = (target: Target, answer: Answer): StorageError => {
    const { status } = answer
    const { code, message } = problemOf(answer)
    const problem = `${status} ${code}${message === "" ? "" : `: ${message}`}`.trim()
    if (status === 507) return new StorageFull({ uri: target.uri, cause: new Error(problem) })
    if (isTransient(status)) return failed(target, true, problem)
    if (status === 401 || options.isExpired(status, { code, message }))
      return noAccess(target, `${problem}; ${options.nextSteps.unauthorized}`)
    if (status === 403) return noAccess(target, `${problem}; ${options.nextSteps.forbidden}`)
    if (status === 404) return noAccess(target, `${problem}; ${options.nextSteps.missing}`)
    if ((status >= 300 && status < 400) || code === "AuthorizationHeaderMalformed")
      return noAccess(target, `${problem}; ${options.nextSteps.elsewhere}`)
    return failed(target, false, problem)
  }

  const transport = options.client === undefined ? nodeTransport : clientTransport(options.client)

  const attempt = (target: Target, request: ObjectRequest) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const proof = yield* Effect.mapError(options.authorize(request, now), (error) =>
        error.retryable ? failed(target, true, error.message) : noAccess(target, error.message),
      )
      return yield* transport({ ...request, headers: { ...request.headers, ...proof } }).pipe(
        Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(new ConnectionBroken({ message: "no answer came in time" })) }),
        Effect.result,
      )
    })

  /** Sends the request until its response needs no retry. `isWhole` selects the statuses whose bodies are read whole. */
  const exchange = (target: Target, request: ObjectRequest, isWhole: (status: number) => boolean) =>
    Effect.gen(function* () {
      let isUncertain = false
      let hasRenewed = false
      for (let count = 1; ; count++) {
        const sent = yield* attempt(target, request)
        if (sent._tag === "Failure") {
          isUncertain = true
          if (count >= attempts) return yield* failed(target, true, `${sent.failure.message}; ${options.nextSteps.unreachable}`)
          yield* backoff(count)
          continue
        }
        const response = sent.success
        const { status, headers, stream, whole } = response
        if (!isWhole(status)) return { status, headers, body: noBytes, isUncertain, stream, whole }
        const body = yield* Effect.result(whole(longestAnswer))
        if (body._tag === "Failure") {
          isUncertain = true
          if (count >= attempts) return yield* failed(target, true, body.failure.message)
          yield* backoff(count)
          continue
        }
        const answer = { status, headers, body: body.success, isUncertain, stream: noStream, whole: () => Effect.succeed(noBytes) }
        if (isTransient(status) && status !== 507) {
          // The store did not execute a throttled request.
          isUncertain ||= status !== 429
          if (count >= attempts) return yield* failure(target, answer)
          yield* backoff(count, retryAfterMillis(headers["retry-after"]))
          continue
        }
        if (!hasRenewed && options.isExpired(status, problemOf(answer))) {
          hasRenewed = true
          yield* options.forget
          continue
        }
        return answer
      }
    })

  return {
    attempts,
    backoff,
    failure,
    problemOf,
    send: (target, request) => exchange(target, request, () => true),
    open: (target, request) => exchange(target, request, (status) => status >= 300),
  }
}

/** An inconsistent response of the store; retrying the call may succeed. */
export const lost = (target: Target, problem: string): StorageFailed =>
  new StorageFailed({ ...target, retryable: true, cause: new Error(problem) })

const noBytes = new Uint8Array(0)

const noStream: ByteStream = Stream.empty

/** Only a delay in seconds counts; a date is ignored. */
const retryAfterMillis = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1000 : undefined

// Addresses of buckets: the bucket and key of an address, and the address of a listed key.

export interface Location {
  readonly bucket: string
  /** For a folder, the prefix of its keys. */
  readonly key: string
}

export const locationOf = (uri: StorageUri | StorageFolder): Location => {
  const start = uri.indexOf("://") + 3
  const end = uri.indexOf("/", start)
  return { bucket: uri.slice(start, end), key: uri.slice(end + 1) }
}

const decodeUri = Schema.decodeOption(StorageUri)

export interface ListedObject {
  readonly key: string
  readonly generation: Generation
  readonly size: number
}

/** The objects of a page with their addresses, and the keys that no address can have, like `a//b`. Skips folder markers. */
export const listedPage = (
  folder: StorageFolder,
  objects: ReadonlyArray<ListedObject>,
): { readonly blobs: ReadonlyArray<BlobInfo>; readonly unusable: ReadonlyArray<string> } => {
  const { bucket } = locationOf(folder)
  const blobs: Array<BlobInfo> = []
  const unusable: Array<string> = []
  for (const { key, generation, size } of objects) {
    if (key.endsWith("/")) continue
    const uri = Option.getOrUndefined(decodeUri(`${folder.slice(0, 5)}${bucket}/${key}`))
    if (uri === undefined) unusable.push(key)
    else blobs.push({ uri, generation, size })
  }
  return { blobs, unusable }
}

// The transport sends one request and returns its response, over keep-alive connections. The default is Node's own client: a request
// costs less than with `fetch`, and the body is sent without a copy. An HttpClient that the caller provides replaces it.

export type Headers = Readonly<Record<string, string>>

export interface ObjectRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE"
  /** With the query, percent-encoded. */
  readonly url: string
  readonly headers: Headers
  readonly body?: Uint8Array
}

/** No response, or an incomplete one. The message is that of the network error. */
export class ConnectionBroken extends Data.TaggedError("ConnectionBroken")<{ readonly message: string }> {}

export type ByteStream = Stream.Stream<Uint8Array, ConnectionBroken>

/** A response whose body is unread. It can be read once, with either `stream` or `whole`. */
export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly stream: ByteStream
  /** Fails on a body of more than `longest` bytes. */
  readonly whole: (longest: number) => Effect.Effect<Uint8Array, ConnectionBroken>
}

/** Does not follow redirects. Decompresses bodies according to `content-encoding`. */
export type Transport = (request: ObjectRequest) => Effect.Effect<Received, ConnectionBroken>

const broken = (error: unknown) => new ConnectionBroken({ message: innermostReason(error) })

/** Uses Node's client. A connection without traffic for `silenceMillis` is closed, even in the middle of a response. */
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
        // Unread data is buffered: the reader is slow, not the connection.
        if (answer !== undefined && answer.readableLength > 0) sent.socket?.setTimeout(silenceMillis)
        else (answer ?? sent).destroy(new Error("the answer stopped arriving"))
      })
      // After the response has begun, errors reach the reader of its body.
      sent.on("error", (error) => resume(Effect.fail(broken(error))))
      sent.end(body)
      return Effect.sync(() => sent.destroy())
    })

/** Five minutes, like the timeouts of `fetch`. */
export const nodeTransport = makeNodeTransport(300_000)

/** Content in an unknown encoding is passed on unchanged. */
const unpacked = (incoming: Readable, encoding: string | undefined): Readable => {
  const unpacking = unpackers[encoding ?? "identity"]?.()
  // `pipeline` destroys both streams if one fails, so that the reader sees the error.
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

/** Uses the caller's HttpClient. Requests create no spans. */
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

/** A response to HEAD, or one without content, has an empty body. */
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

/** Concatenates the pieces. */
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
