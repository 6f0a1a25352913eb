/**
 * The payment service reports a payment at `POST /webhooks/payments`. The header `x-signature` has the HMAC-SHA256 of the body, in
 * hexadecimal, under the secret in `PAYMENTS_SECRET`. A repeated delivery changes nothing.
 */
import { hmacSignature, sendEvent, webhook } from "@detent/workspace/Webhook"
import * as Schema from "effect/Schema"
import { E, Order } from "./Order.ts"

export const payments = webhook("payments", {
  verify: hmacSignature(process.env["PAYMENTS_SECRET"], { header: "x-signature" }),
  body: Schema.Struct({ id: Schema.String, order: Schema.String }),
  id: ({ body }) => body.id,
  on: ({ body }) => sendEvent(Order, body.order, E.Pay({ transactionId: body.id })),
})
