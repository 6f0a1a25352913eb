// A delivery of a payment service becomes an event of an order.
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import { githubSignature, sendEvent, stripeSignature, webhook } from "@detent/workspace/Webhook"
import * as Schema from "effect/Schema"

const S = State({ Pending: {}, Paid: { charge: Schema.String } })
const E = Event({ Pay: { charge: Schema.String } })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Pending })
  .on(S.Pending, E.Pay, S.Paid, ({ event }) => S.Paid({ charge: event.charge }))
  .final(S.Paid)

// #region stripe
const Charge = Schema.Struct({ id: Schema.String, metadata: Schema.Struct({ order: Schema.String }) })

const stripe = webhook("stripe", {
  verify: stripeSignature(process.env["STRIPE_WEBHOOK_SECRET"]),
  body: Schema.Struct({ id: Schema.String, type: Schema.String, data: Schema.Struct({ object: Charge }) }),
  id: ({ body }) => body.id, // a repeated delivery changes nothing
  on: ({ body: { type, data } }) =>
    type === "charge.succeeded" ? sendEvent(Order, data.object.metadata.order, E.Pay({ charge: data.object.id })) : undefined,
})

export default defineConfig({ machines: [Order], webhooks: [stripe] })
// #endregion stripe

// #region github
export const github = webhook("github", {
  verify: githubSignature([process.env["GITHUB_WEBHOOK_SECRET"], process.env["GITHUB_WEBHOOK_SECRET_BEFORE"]]),
  body: Schema.Struct({ number: Schema.Int }),
  id: ({ headers }) => headers["x-github-delivery"],
  on: ({ body }) => sendEvent(Order, `order-${body.number}`, E.Pay({ charge: "by hand" })),
})
// #endregion github

// #region check
const text = "Hello, World!"
const headers = { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" }
console.log(githubSignature("It's a Secret to Everybody").problemOf({ text, headers, now: Date.now() }))
console.log(githubSignature("another secret").problemOf({ text, headers, now: Date.now() }))
// #endregion check
