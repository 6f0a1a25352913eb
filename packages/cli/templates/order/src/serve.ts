/** A page that shows an order while it changes, and Detent's API and console beside it: one process, one port. */
import { readFile } from "node:fs/promises"
import { createServer } from "node:http"
import { openHandler } from "@detent/server/handler"
import config from "../detent.config.ts"

const detent = await openHandler({ config })
const page = new URL("page.html", import.meta.url)

const server = createServer(async (request, response) => {
  if (new URL(request.url ?? "/", "http://localhost").pathname === "/order")
    response.setHeader("content-type", "text/html; charset=utf-8").end(await readFile(page))
  else detent.node(request, response)
})
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const address = server.address()
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}/order`)
})

const stop = async () => {
  server.close()
  await detent.close()
  server.closeAllConnections()
}
process.once("SIGINT", stop)
process.once("SIGTERM", stop)
