/** A handler of node:http that returns the bytes it is given. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const [, , body = ""] = process.argv
const bytes = Buffer.from(body)
const headers = { "content-type": "application/json", "content-length": bytes.length }
const server = createServer((_, response) => {
  response.writeHead(200, headers)
  response.end(bytes)
})
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })))
process.stdin.on("end", () => process.exit()).resume()
