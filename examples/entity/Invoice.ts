import { EntityWorkflow, Processor, Registry } from "@detent/entity"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** Makes payments. It pays once per key. */
export class Bank extends Context.Service<
  Bank,
  { readonly pay: (to: string, amount: number, key: string) => Effect.Effect<string, string> }
>()("Bank") {}

export const Invoice = Schema.Struct({
  supplier: Schema.String,
  amount: Schema.Finite,
  receivedAt: Schema.optionalKey(Schema.Finite),
  signedBy: Schema.optionalKey(Schema.String),
  payment: Schema.optionalKey(Schema.String),
})

/** The processors and criteria that workflows over invoices can use. */
export const invoices = Registry.make(Invoice, {
  processors: {
    stamp: Processor.pure((invoice, { at }) => ({ ...invoice, receivedAt: at })),
    pay: Processor.effect(
      (invoice, { key }) =>
        Effect.gen(function* () {
          const payment = yield* (yield* Bank).pay(invoice.supplier, invoice.amount, key)
          return { ...invoice, payment }
        }),
      { retry: { attempts: 5, delay: "1 second", backoff: "exponential" } },
    ),
  },
  criteria: {
    isSmall: (invoice) => invoice.amount < 1000,
    isSigned: (invoice) => invoice.signedBy !== undefined,
  },
})

export const Approval = EntityWorkflow.make(invoices, {
  name: "approval",
  states: ["received", "waiting", "approved", "paid", "rejected", "failed"],
  initial: "received",
  failure: "give_up",
  transitions: [
    { name: "approve_small", from: "received", to: "approved", processors: ["stamp"], criteria: ["isSmall"] },
    { name: "ask", from: "received", to: "waiting", processors: ["stamp"] },
    { name: "approve", from: "waiting", to: "approved", manual: true, criteria: ["isSigned"] },
    { name: "reject", from: "waiting", to: "rejected", manual: true },
    { name: "pay", from: "approved", to: "paid", processors: ["pay"] },
    { name: "give_up", from: "*", to: "failed", manual: true },
    { name: "retry", from: "failed", to: "received", manual: true },
  ],
})
