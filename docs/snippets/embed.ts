import { openHandler } from "@detent/server/handler"
import { serve } from "@hono/node-server"
import { Hono } from "hono"
import { Order as Definition } from "./Order.ts"

const Order = Definition.build({ charge: async ({ total }) => `receipt for ${total}` })

// #region hono
const detent = await openHandler({ machines: [Order], token: process.env["DETENT_TOKEN"] })

const app = new Hono()
app.post("/checkout/:id", async (context) => {
  // The routes of the shop use the same engine.
  const order = await detent.engine?.ensure(Order, context.req.param("id"), { total: 42 })
  return context.json({ state: await order?.state() })
})
// Everything else is Detent's: its API, and the console at /.
app.all("*", (context) => detent.fetch(context.req.raw))

const server = serve({ fetch: app.fetch, port: 3000, hostname: "127.0.0.1" })
process.once("SIGTERM", async () => {
  server.close()
  await detent.close()
})
// #endregion hono
