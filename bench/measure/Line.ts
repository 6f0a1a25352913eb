/** A proxy to PostgreSQL that can hold back the data of clients, so that it arrives late. */
import { connect, createServer, type Socket } from "node:net"

export interface Line {
  /** The database, over this line. */
  readonly url: string
  /** Holds back all data from now on. Resolves when data that contains the text is held back. */
  hold(text: string): Promise<void>
  /** Delivers the data held back, and holds back no more. */
  release(): void
  close(): Promise<void>
}

export const openLine = async (database: string): Promise<Line> => {
  const target = new URL(database)
  const sockets = new Set<Socket>()
  let held: Array<() => void> | undefined
  let noticed: ((data: Buffer) => void) | undefined
  const server = createServer((client) => {
    const postgres = connect(Number(target.port), target.hostname)
    for (const [socket, other] of [
      [client, postgres],
      [postgres, client],
    ] as const) {
      sockets.add(socket)
      // A killed process resets its connections: the error only has to end the other side too.
      socket.on("error", () => other.destroy())
      socket.on("close", () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    client.on("data", (data) => {
      if (held === undefined) return void postgres.write(data)
      held.push(() => postgres.write(data))
      noticed?.(data)
    })
    postgres.on("data", (data) => client.write(data))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the line to PostgreSQL has no port")
  const url = new URL(database)
  url.port = String(address.port)
  return {
    url: url.href,
    hold: (text) => {
      held = []
      return new Promise((resolve) => {
        noticed = (data) => {
          if (data.includes(text)) resolve()
        }
      })
    },
    release: () => {
      const late = held ?? []
      held = undefined
      noticed = undefined
      for (const arrive of late) arrive()
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
