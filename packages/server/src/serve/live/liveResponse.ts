/** The answer that is a live stream. */
import * as HttpServerResponse from "effect/unstable/http/HttpServerResponse"
import type { Frame } from "./Channel.ts"
import type { LiveReader } from "./LiveReader.ts"

/** No proxy on the way may keep it back. */
const headers = { "cache-control": "no-store", "x-accel-buffering": "no" }

export const liveResponse = (reader: LiveReader): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.raw(reader, { contentType: "text/event-stream", headers })

/** The same where one event is all there is to tell. */
export const endingResponse = ({ bytes }: Frame): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(bytes, { contentType: "text/event-stream", headers })
