/** The response of a live stream. */
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Frame } from "./Channel.ts"
import type { LiveReader } from "./LiveReader.ts"

/** Keeps proxies from buffering the stream. */
const headers = { "cache-control": "no-store", "x-accel-buffering": "no" }

export const liveResponse = (reader: LiveReader): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.raw(reader, { contentType: "text/event-stream", headers })

/** The same for a stream of a single event. */
export const endingResponse = ({ bytes }: Frame): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(bytes, { contentType: "text/event-stream", headers })
