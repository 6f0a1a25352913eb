/**
 * The messages of an RPC client: one JSON message per line, over HTTP or WebSocket. Other input is refused here; the schema of each
 * procedure checks its payload.
 */
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as Schema from "effect/Schema"
import { deepestNesting, isNestedTooDeeply } from "./Nesting.ts"
import type { ProblemResponse } from "./ProblemResponse.ts"

const Id = Schema.Union([Schema.String, Schema.Int])

const Message = Schema.Union([
  Schema.Struct({
    _tag: Schema.Literal("Request"),
    id: Id,
    tag: Schema.String,
    headers: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
    traceId: Schema.optionalKey(Schema.String),
    spanId: Schema.optionalKey(Schema.String),
    sampled: Schema.optionalKey(Schema.Boolean),
  }),
  Schema.Struct({ _tag: Schema.Literals(["Ack", "Interrupt"]), requestId: Id }),
  Schema.Struct({ _tag: Schema.Literals(["Eof", "Ping"]) }),
])

const isMessage = Schema.is(Message)

const readJson = Schema.decodeOption(Schema.fromJsonString(Schema.Unknown))

/** The most messages of one body or one WebSocket message: all of them are decoded at once. */
const mostMessages = 100

/** All messages of a text, undecoded; none if any of its lines is not a message. The last line may lack its line end. */
const messagesOf = (text: string): Option.Option<ReadonlyArray<typeof Message.Type>> => {
  const lines = text.split("\n", mostMessages + 2)
  if (lines.length > 1 && lines.at(-1) === "") lines.pop()
  if (lines.length > mostMessages) return Option.none()
  const messages = Option.all(lines.map((line) => (isNestedTooDeeply(line) ? Option.none() : Option.filter(readJson(line), isMessage))))
  return Option.filter(messages, haveOwnIds)
}

/** A second request with the same id would take the answer of the first. */
const haveOwnIds = (messages: ReadonlyArray<typeof Message.Type>): boolean => {
  const ids = messages.flatMap((message) => (message._tag === "Request" ? [String(message.id)] : []))
  return new Set(ids).size === ids.length
}

export const areMessages = (text: string): boolean => Option.isSome(messagesOf(text))

const form = `at most ${mostMessages} whole messages of the RPC client, one per line, each request with an id of its own, nested at most ${deepestNesting} levels deep`

export const noMessages: ProblemResponse = {
  status: 400,
  name: "MessagesInvalid",
  title: "The request cannot be understood",
  detail: `the body has to be ${form}; use the client of @detent/server, or the API of /openapi.json`,
}

/** A WebSocket message that does not hold whole messages of the protocol. */
class MessagesInvalid extends Schema.TaggedError<MessagesInvalid>()("MessagesInvalid", {}) {
  override get message() {
    return `a WebSocket message has to be ${form}; use the client of @detent/server`
  }
}

/**
 * Accepts only bodies and WebSocket messages that hold whole messages of the protocol, so that no partial line is buffered. Others are
 * dropped, and their sender gets an error.
 */
export const layerWholeMessages: Layer.Layer<RpcSerialization.RpcSerialization> = Layer.succeed(RpcSerialization.RpcSerialization, {
  ...RpcSerialization.ndjson,
  makeUnsafe: () => ({
    encode: RpcSerialization.ndjson.makeUnsafe().encode,
    // The protocol sends an error that is thrown here to the client, and continues with the next message.
    decode: (data) =>
      Option.getOrThrowWith(messagesOf(typeof data === "string" ? data : new TextDecoder().decode(data)), () => new MessagesInvalid()),
  }),
})
