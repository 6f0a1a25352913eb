import { openHandler } from "@detent/server/handler"
import express from "express"
import { Order as Definition } from "./Order.ts"

const Order = Definition.build({ charge: async ({ total }) => `receipt for ${total}` })

// #region express
const detent = await openHandler({ machines: [Order], token: process.env["DETENT_TOKEN"], path: "/detent" })

const app = express()
app.use((request, response, next) => (request.url.startsWith("/detent/") ? detent.node(request, response) : next()))
app.listen(3000, "127.0.0.1")
// #endregion express
