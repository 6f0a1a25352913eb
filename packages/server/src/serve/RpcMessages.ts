/**
 * The messages of a client of the procedures: JSON, each on a line of its own, over HTTP or WebSocket. Other input is refused here;
 * the payload of a procedure is checked by its own schema.
 */
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as RpcSerialization from "effect/unstable/rpc/RpcSerialization"
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

/** All messages of a text, as they were sent; none if any of its lines is not a message. The last line may lack its line end. */
const messagesOf = (text: string): Option.Option<ReadonlyArray<unknown>> =>
  Option.all(
    text
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => Option.filter(readJson(line), isMessage)),
  )

export const areMessages = (text: string): boolean => Option.isSome(messagesOf(text))

export const noMessages: ProblemResponse = {
  status: 400,
  name: "MessagesInvalid",
  title: "The request cannot be understood",
  detail: "the body has to be messages of the RPC client, one on a line; use the client of @detent/server, or the API of /openapi.json",
}

/** A WebSocket message that does not hold whole messages of the protocol. */
class MessagesInvalid extends Schema.TaggedError<MessagesInvalid>()("MessagesInvalid", {}) {
  override get message() {
    return "a WebSocket message has to be whole messages of the RPC client, one on a line; use the client of @detent/server"
  }
}

/**
 * A body, and each message of a WebSocket, must hold whole messages of the protocol, so that no partial line is buffered. Other
 * messages are dropped, and their sender gets an error.
 */
export const layerWholeMessages: Layer.Layer<RpcSerialization.RpcSerialization> = Layer.succeed(RpcSerialization.RpcSerialization, {
  ...RpcSerialization.ndjson,
  makeUnsafe: () => ({
    encode: RpcSerialization.ndjson.makeUnsafe().encode,
    // The protocol answers an error that is thrown here and continues with the next message.
    decode: (data) =>
      Option.getOrThrowWith(messagesOf(typeof data === "string" ? data : new TextDecoder().decode(data)), () => new MessagesInvalid()),
  }),
})
