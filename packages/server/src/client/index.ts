/** Clients of a server. */
export { type Client, type ClientOptions, makeClient } from "./Client.ts"
export { makeRpcClient, makeRpcSocketClient } from "./RpcClient.ts"
