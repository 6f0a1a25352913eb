import { type OpenedHandler, openHandler } from "@detent/server/handler"
import { Order as Definition } from "./Order.ts"

const Order = Definition.build({ charge: async ({ total }) => `receipt for ${total}` })

// #region route
// app/api/v1/[...path]/route.ts
const shared = globalThis as { detent?: Promise<OpenedHandler> }
shared.detent ??= openHandler({ machines: [Order], token: process.env["DETENT_TOKEN"] })

const answer = async (request: Request) => (await shared.detent!).fetch(request)

export { answer as DELETE, answer as GET, answer as POST, answer as PUT }
// #endregion route
