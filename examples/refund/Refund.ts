/**
 * A refund. Above 100 a manager approves it within three days; then the bank pays, which fails half of the time and is retried.
 * The definition has no handler: `withEffect.ts` and `withAsync.ts` implement its slot, each in its own style.
 */
import { Event, Machine, RetryPolicy, reply, Slot, State, stay } from "@detent/machine"
import * as Schema from "effect/Schema"

/** The bank could not be reached, or did not answer. */
export class BankUnavailable extends Schema.TaggedError<BankUnavailable>()("BankUnavailable", { reason: Schema.String }) {}

/** Since version 2 a refund has a currency. */
const refund = { order: Schema.String, amount: Schema.Finite, currency: Schema.String }

export const S = State({
  Open: State.group({
    AwaitingApproval: refund,
    Paying: { ...refund, approvedBy: Schema.optionalKey(Schema.String) },
  }),
  Refunded: { ...refund, receipt: Schema.String },
  Rejected: { ...refund, reason: Schema.String },
  Failed: { ...refund, problem: Schema.String },
})

export const E = Event({
  Approve: { approvedBy: Schema.String },
  Reject: { reason: Schema.String },
  Paid: { receipt: Schema.String },
  PaymentFailed: { problem: Schema.String },
  GetStatus: Event.reply({}, Schema.String),
})

const effects = Slot.Effects({
  pay: Slot.effect(refund, { success: Schema.String, failure: BankUnavailable }),
})

export interface RefundInput {
  readonly order: string
  readonly amount: number
  readonly currency: string
}

export const Refund = Machine.make({
  name: "refund",
  version: 2,
  state: S,
  event: E,
  effects,
  initial: (input: RefundInput) => (input.amount > 100 ? S.AwaitingApproval(input) : S.Paying(input)),
})
  .on(S.AwaitingApproval, E.Approve, S.Paying)
  .on(S.AwaitingApproval, E.Reject, S.Rejected)
  .timeout(S.AwaitingApproval, "3 days", S.Rejected, ({ state }) =>
    S.Rejected.derive(state, { reason: "no manager approved it within three days" }),
  )
  .enter(S.Paying, ({ state: { order, amount, currency }, effects }) => effects.pay({ order, amount, currency }), { requests: ["pay"] })
  .on(S.Paying, E.Paid, S.Refunded)
  .on(S.Paying, E.PaymentFailed, S.Failed)
  // The question is answered in both states of the group.
  .on(S.Open, E.GetStatus, stay, ({ state }) =>
    reply(state._tag === "Paying" ? "the bank is paying" : `${state.amount} ${state.currency} wait for a manager`),
  )
  .final(S.Refunded, S.Rejected, S.Failed)
  .commands({
    pay: {
      retry: RetryPolicy.exponential({ initialDelay: "10 millis", maxDelay: "1 minute", maxAttempts: 10 }),
      onSuccess: (receipt) => E.Paid({ receipt }),
      onFailure: (error) => E.PaymentFailed({ problem: error._tag === "BankUnavailable" ? error.reason : error.problem }),
    },
  })

/** Version 1 had a single currency. */
export const upcasters = { 1: { state: (json: object) => ({ ...json, currency: "EUR" }) } }
