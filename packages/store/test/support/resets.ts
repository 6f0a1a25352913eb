/** Clients that reset their connections. */
import { createConnection, type Socket } from "node:net"
import * as Effect from "effect/Effect"

/** The request of a WebSocket, as the text on the wire. */
export const upgrading = (path: string, authorization?: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ...(authorization === undefined ? [] : [`authorization: Bearer ${authorization}`]),
    "\r\n",
  ].join("\r\n")

/** Sends a request, and resets the connection with what the server answers still unread. */
export const sendAndReset = (port: number, text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const socket: Socket = createConnection(port, "127.0.0.1", () => {
      socket.pause()
      socket.write(text, () => socket.resetAndDestroy())
    })
    // The server may be the first to end the connection.
    socket.once("error", () => undefined)
    socket.once("close", () => resume(Effect.void))
  })

/** The same from many connections. */
export const resetMany = (port: number, text: string): Effect.Effect<void> =>
  Effect.forEach(Array.from({ length: 40 }), () => sendAndReset(port, text), { concurrency: 10, discard: true })
