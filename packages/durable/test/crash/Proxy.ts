/** A line to a database that can be cut at the worst moment: the server has got the request, and its answer is lost. */
import { connect, createServer, type Server, type Socket } from "node:net"

export interface Proxy {
  readonly url: string
  /** Of the requests that contain this text, the next one is done and never answered. Resolves when that has happened. */
  readonly cutAfter: (text: string) => Promise<void>
  readonly close: () => Promise<void>
}

export const startProxy = async (url: string): Promise<Proxy> => {
  const target = new URL(url)
  const sockets = new Set<Socket>()
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
      if (armed !== undefined && data.includes(armed.text)) {
        cut = armed.done
        armed = undefined
      }
      database.write(data)
    })
    database.on("data", (data) => {
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
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
