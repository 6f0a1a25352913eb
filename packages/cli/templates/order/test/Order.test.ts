import assert from "node:assert/strict"
import { test } from "node:test"
import { Machine } from "@detent/machine"
import { advance, simulate } from "@detent/machine/testing"
import { E, Order, S } from "../src/Order.ts"

const placed = S.Placed({ item: "lamp", total: 42 })

test("an order that is paid keeps what was ordered", () => {
  const decision = Machine.decide(Order, placed, E.Pay({ transactionId: "t-9" }))
  assert.equal(decision._tag, "Goto")
  assert.deepEqual("state" in decision && decision.state, S.Paid({ item: "lamp", total: 42, transactionId: "t-9" }))
})

test("an order that is not paid is not shipped", () => {
  assert.equal(Machine.decide(Order, placed, E.Ship({ trackingNumber: "x" }))._tag, "Refused")
})

test("an order that is not paid within half an hour is cancelled", () => {
  const { path } = simulate(Order, placed, [advance("29 minutes")])
  assert.deepEqual(path, ["Placed"])
  // Half an hour passes in no time.
  assert.deepEqual(simulate(Order, placed, [advance("30 minutes")]).path, ["Placed", "Cancelled"])
})

test("an order that is shipped asks for one mail", () => {
  const { requests } = simulate(Order, placed, [E.Pay({ transactionId: "t-9" }), E.Ship({ trackingNumber: "NL-9" })])
  assert.deepEqual(requests, [{ slot: "sendMail", parameters: { text: "Your lamp is on its way: NL-9" } }])
})
