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

const isMessage = Schema.is(
  Schema.Union([
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
  ]),
)

const readJson = Schema.decodeOption(Schema.fromJsonString(Schema.Unknown))

/** All messages of a text, undecoded; none if any of its lines is not a message. The last line may lack its line end. */
const messagesOf = (text: string): Option.Option<ReadonlyArray<unknown>> =>
  Option.all(
    text
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => (isNestedTooDeeply(line) ? Option.none() : Option.filter(readJson(line), isMessage))),
  )

export const areMessages = (text: string): boolean => Option.isSome(messagesOf(text))

export const noMessages: ProblemResponse = {
  status: 400,
  name: "MessagesInvalid",
  title: "The request cannot be understood",
  detail: `the body has to be messages of the RPC client, one per line, nested at most ${deepestNesting} levels deep; use the client of @detent/server, or the API of /openapi.json`,
}

/** A WebSocket message that does not hold whole messages of the protocol. */
class MessagesInvalid extends Schema.TaggedError<MessagesInvalid>()("MessagesInvalid", {}) {
  override get message() {
    return `a WebSocket message has to be whole messages of the RPC client, one per line, nested at most ${deepestNesting} levels deep; use the client of @detent/server`
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
