import { makeInstanceTokens } from "@detent/server/tokens"
import { Order } from "./Order.ts"

const key = process.env["DETENT_TOKEN"] ?? "a token of the Detent server" // the token that the Detent server was started with
const tokens = makeInstanceTokens(key)

/** For a customer who is logged in and whose order this is: your application checks that. */
export const tokenForPage = (order: string) => tokens.forInstance(Order, order, { read: true, events: ["Cancel"], expiresIn: "1 hour" })
