/** Requests over keep-alive connections, each sent when the last one is answered. All answers have one length, so counting is cheap. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

const requestText = (path: string) => `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`

/** The length of one answer, headers included, and its body. */
export const sample = async (port: number, path: string): Promise<{ readonly length: number; readonly body: string }> => {
  const socket = connect(port, "127.0.0.1")
  socket.write(requestText(path))
  let text = ""
  for (;;) {
    const [chunk] = (await once(socket, "data")) as [Buffer]
    text += chunk.toString("latin1")
    const head = text.indexOf("\r\n\r\n")
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
    if (head === -1 || text.length < head + 4 + length) continue
    socket.destroy()
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(`${path} was answered with ${text.slice(0, 200)}`)
    return { length: text.length, body: Buffer.from(text.slice(head + 4), "latin1").toString("utf8") }
  }
}

/** The answered requests per second over this many connections. */
export const drive = async (port: number, path: string, connections: number, millis: number): Promise<number> => {
  const { length } = await sample(port, path)
  const request = Buffer.from(requestText(path))
  let answered = 0
  let stopped = false
  const sockets: Array<Socket> = []
  for (let index = 0; index < connections; index++) {
    const socket = connect(port, "127.0.0.1").setNoDelay(true)
    let received = 0
    socket.on("data", (chunk) => {
      received += chunk.length
      if (received < length) return
      received -= length
      answered++
      if (!stopped) socket.write(request)
    })
    await once(socket, "connect")
    sockets.push(socket)
  }
  const begin = performance.now()
  for (const socket of sockets) socket.write(request)
  await new Promise((resolve) => setTimeout(resolve, millis))
  stopped = true
  const perSecond = (answered / (performance.now() - begin)) * 1000
  for (const socket of sockets) socket.destroy()
  return perSecond
}
