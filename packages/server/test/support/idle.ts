/** A server that does nothing but answer, as a program of its own: how late it is, is the doing of the machine. It prints its address. */
import { createServer } from "node:http"

const server = createServer((_, response) => response.end("{}"))
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}`)
})
