import { alwaysEventually, check, formatCheck, never, unproved } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { Refund } from "../refund/Refund.ts"

const times = (executed: { readonly [slot: string]: number }) => executed["pay"] ?? 0

describe("a refund, in every order of approvals, deadlines, answers of the bank and crashes", () => {
  it("is paid once, after its approval, and ends", () => {
    const report = check(Refund, {
      starts: [
        { order: "order-1", amount: 250, currency: "EUR" },
        { order: "order-2", amount: 20, currency: "EUR" },
      ],
      events: ["Approve", "Reject"],
      properties: {
        "pays at most once": never(({ executed }) => times(executed) > 1),
        "pays above 100 only what a manager approved": never(({ state, executed, pending }) => {
          const isRequested = times(executed) > 0 || pending.some(({ slot }) => slot === "pay")
          return isRequested && state.amount > 100 && (state._tag === "AwaitingApproval" || state._tag === "Rejected")
        }),
        "is refunded only where the bank paid": never(({ state, executed }) => state._tag === "Refunded" && times(executed) === 0),
        "loses no answer of the bank": never(({ lostResults }) => lostResults.length > 0),
        ends: alwaysEventually(({ status }) => status === "final"),
      },
    })
    expect(
      unproved(report).map(({ name }) => name),
      formatCheck(report),
    ).toEqual([])
    expect(report.notes).toEqual([])
  })
})
