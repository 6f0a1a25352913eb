import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { openEngine } from "@detent/durable/promise"
import { InvalidEvent, InvalidTransition, MachineStopped, PersistenceFailed } from "@detent/machine"
import { E, Order } from "./Order.ts"

const BuiltOrder = Order.build({ charge: async ({ total }) => `receipt for ${total}` })

// #region server
const engine = await openEngine({ database: "memory", machines: [BuiltOrder] }) // once per process, at its start

/** POST /orders/ID/pay: the webhook of a payment provider, which sends it again until it gets a 2xx. */
const server = createServer(async (request, response) => {
  const id = request.url?.split("/")[2] ?? ""
  const webhook = String(request.headers["webhook-id"])
  try {
    const order = await engine.ensure(BuiltOrder, id, { total: 42 })
    await order.send(E.Pay(), { id: webhook }) // resolves when the event is stored; a repeated id gets the first outcome
    response.writeHead(202).end("accepted")
  } catch (error) {
    if (error instanceof InvalidTransition || error instanceof MachineStopped) response.writeHead(409).end(error.message)
    else if (error instanceof InvalidEvent) response.writeHead(400).end(error.message)
    else if (error instanceof PersistenceFailed)
      response.writeHead(503).end("send it again") // may be stored: the id makes it safe
    else response.writeHead(500).end()
  }
})
server.listen(0)

process.once("SIGTERM", async () => {
  server.close()
  await engine.close() // stores what was accepted, and waits for handlers
})
// #endregion server

await once(server, "listening")
// #region deliveries
const post = async (webhook: string) => {
  const address = `http://localhost:${(server.address() as AddressInfo).port}/orders/order-7/pay`
  const response = await fetch(address, { method: "POST", headers: { "webhook-id": webhook } })
  console.log(webhook, response.status, await response.text())
}
await post("webhook-77")
await post("webhook-77") // the provider delivers it twice
await engine.waitFor(BuiltOrder, "order-7", ({ _tag }) => _tag === "Paid")
await post("webhook-78") // another webhook for an order that is paid
// #endregion deliveries
server.close()
await engine.close()
