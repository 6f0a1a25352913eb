/**
 * A line to a database, or to a node, that can be cut at the worst moment: the server has got the request, and its answer is lost. Or
 * for a while: what is sent arrives nowhere, and both ends wait.
 */
import { connect, createServer, type Server, type Socket } from "node:net"

export interface Proxy {
  readonly url: string
  /** Of the requests that contain this text, the next one is done and never answered. Resolves when that has happened. */
  readonly cutAfter: (text: string) => Promise<void>
  /** From now on nothing passes. Connections stay open, and new ones are made. */
  readonly block: () => void
  /** What was connected meanwhile or before is cut; new connections work. */
  readonly unblock: () => void
  readonly close: () => Promise<void>
}

export const startProxy = async (url: string): Promise<Proxy> => {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let isBlocked = false
  let armed: { readonly text: string; readonly done: () => void } | undefined
  const server: Server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname)
    let cut: (() => void) | undefined
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => {
        sockets.delete(socket)
        client.destroy()
        database.destroy()
      })
    }
    client.on("data", (data) => {
      if (isBlocked) return
      if (armed !== undefined && data.includes(armed.text)) {
        cut = armed.done
        armed = undefined
      }
      database.write(data)
    })
    database.on("data", (data) => {
      if (isBlocked) return
      if (cut === undefined) return void client.write(data)
      client.destroy()
      cut()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const own = new URL(url)
  own.port = String(address !== null && typeof address === "object" ? address.port : "")
  return {
    url: own.href,
    cutAfter: (text) =>
      new Promise((resolve) => {
        armed = { text, done: resolve }
      }),
    block: () => {
      isBlocked = true
    },
    unblock: () => {
      isBlocked = false
      for (const socket of sockets) socket.destroy()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
