/** The answer that is a live stream. */
import type * as Stream from "effect/Stream"
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import type { LiveReader } from "./LiveReader.ts"

/** No proxy on the way may keep it back. */
const headers = { "cache-control": "no-store", "x-accel-buffering": "no" }

export const liveResponse = (reader: LiveReader): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.raw(reader, { contentType: "text/event-stream", headers })

/** The same where there is an end to what is told. */
export const endingResponse = <E>(bytes: Stream.Stream<Uint8Array, E>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(bytes, { contentType: "text/event-stream", headers })
