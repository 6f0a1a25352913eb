import { advance, assertNeverReaches, assertPath, assertReaches } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import { Order, OrderEvent, OrderState, Session, SessionEvent, SessionState, start } from "./machines.ts"

const pay = OrderEvent.Pay({ transactionId: "t-1", card: "4111" })

describe("assertPath", () => {
  it("accepts the path taken and returns the simulation", () => {
    const { requests } = assertPath(Order, start, [OrderEvent.RequestPayment(), pay], ["Pending", "Awaiting", "Paid"])
    expect(requests).toHaveLength(1)
  })

  it("shows where the paths part, and what was refused", () => {
    const events = [OrderEvent.RequestPayment(), advance("30 minutes"), pay]
    expect(() => assertPath(Order, start, events, ["Pending", "Awaiting", "Paid"])).toThrowErrorMatchingInlineSnapshot(`
      [Error: order did not take the expected path (- expected, + taken)
          Pending
          Awaiting     on RequestPayment
        - Paid
        + Cancelled    on (timeout)
        refused Pay: order has ended in state Cancelled: Cancelled is a final state]
    `)
  })

  it("shows states that are missing at the end", () => {
    expect(() => assertPath(Order, start, [OrderEvent.Ship()], ["Pending", "Picking"])).toThrowErrorMatchingInlineSnapshot(`
      [Error: order did not take the expected path (- expected, + taken)
          Pending
        - Picking
        refused Ship: order: state Pending has no transition for event Ship; it accepts RequestPayment, GetTotal, Cancel]
    `)
  })

  it("names automatic transitions", () => {
    const clicked = SessionState.Active({ clicks: 5 })
    expect(() => assertPath(Session, clicked, [SessionEvent.Sort()], ["Active", "Sorting", "Busy"])).toThrowErrorMatchingInlineSnapshot(`
      [Error: session did not take the expected path (- expected, + taken)
          Active
          Sorting    on Sort
          Busy       on (always)
        + Quiet      on (always)]
    `)
  })
})

describe("assertReaches", () => {
  it("accepts a state that was visited, be it only in passing", () => {
    assertReaches(Session, SessionState.Active({ clicks: 5 }), [SessionEvent.Sort()], "Busy")
  })

  it("shows the path that missed the state", () => {
    expect(() => assertReaches(Order, start, [OrderEvent.RequestPayment()], "Paid")).toThrowErrorMatchingInlineSnapshot(`
      [Error: order did not reach Paid
          Pending
          Awaiting    on RequestPayment
        - Paid]
    `)
  })

  it("without events, asks the declarations", () => {
    assertReaches(Order, start, "Delivered")
    expect(() => assertReaches(Order, OrderState.Paid({ ...start, transactionId: "t" }), "Pending")).toThrowErrorMatchingInlineSnapshot(
      `[Error: order cannot reach Pending from its start: no declared transitions lead there]`,
    )
  })
})

describe("assertNeverReaches", () => {
  it("accepts a path that keeps out of the state", () => {
    assertNeverReaches(Order, start, [OrderEvent.RequestPayment(), pay], "Cancelled")
  })

  it("shows how the state was reached", () => {
    expect(() => assertNeverReaches(Order, start, [OrderEvent.Cancel({ reason: "no" })], "Cancelled")).toThrowErrorMatchingInlineSnapshot(`
      [Error: order reached Cancelled, which it must not
          Pending
        + Cancelled    on Cancel]
    `)
  })

  it("without events, shows the shortest declared way", () => {
    assertNeverReaches(Order, OrderState.Packing({ orderId: "7" }), "Cancelled")
    expect(() => assertNeverReaches(Order, start, "Packing")).toThrowErrorMatchingInlineSnapshot(`
      [Error: order can reach Packing by declared transitions
        + Pending
        + Awaiting    on RequestPayment
        + Paid        on Pay
        + Picking     on Ship
        + Packing     on Picked]
    `)
  })
})
