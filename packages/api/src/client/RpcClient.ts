/** The client of the procedures on batches, executions and commands, over HTTP or over one WebSocket. */
import * as NodeWS from "@effect/platform-node/NodeWS"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as RpcClient from "effect/rpc/RpcClient"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as Socket from "effect/socket/Socket"
import { BatchRpc } from "../procedures/BatchRpc.ts"
import { CommandRpc } from "../procedures/CommandRpc.ts"
import { ExecutionRpc } from "../procedures/ExecutionRpc.ts"
import { type ClientOptions, withToken } from "./Client.ts"

const procedures = ExecutionRpc.merge(CommandRpc, BatchRpc)

/** Sends each call as a separate HTTP request; a stream keeps its request open. */
export const makeRpcClient = ({ url, token }: ClientOptions) =>
  overProtocol(
    RpcClient.layerProtocolHttp({ url: `${url}/rpc`, transformClient: withToken(token) }).pipe(Layer.provide(FetchHttpClient.layer)),
  )

/** Sends all calls over one connection, which closes with the scope. */
export const makeRpcSocketClient = ({ url, token }: ClientOptions) => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${Redacted.value(token)}` }
  const open = Layer.succeed(Socket.WebSocketConstructor, (address) => new NodeWS.WebSocket(address, { headers }) as never)
  return overProtocol(
    RpcClient.layerProtocolSocket().pipe(
      Layer.provide(Socket.layerWebSocket(`${url.replace(/^http/, "ws")}/rpc/socket`)),
      Layer.provide(open),
    ),
  )
}

/** Builds the protocol in the caller's scope, so that the connection stays open after the client is created. */
const overProtocol = (protocol: Layer.Layer<RpcClient.Protocol, never, RpcSerialization.RpcSerialization>) =>
  Effect.flatMap(Layer.build(Layer.provide(protocol, RpcSerialization.layerNdjson)), (context) =>
    Effect.provideContext(RpcClient.make(procedures), context),
  )
