/** Clients of a server. */
export { type Client, type ClientOptions, makeClient, withIdempotencyKey } from "./Client.ts"
export { makeRpcClient, makeRpcSocketClient } from "./RpcClient.ts"
