import assert from "node:assert/strict"
import { test } from "node:test"
import { Machine } from "@detent/machine"
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
