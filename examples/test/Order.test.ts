import { spawn } from "@detent/machine"
import { advance, assertNeverReaches, assertPath, simulate } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { E, Order, S } from "../order/Order.ts"

const basket = { orderId: "A-7", email: "ada@example.org", total: 42 }

/** An order whose commands are only recorded. */
const orderWithLog = Effect.gen(function* () {
  const commands: Array<string> = []
  const write = (command: string) => Effect.sync(() => void commands.push(command))
  const machine = Order.build({
    chargeCard: ({ amount, transactionId }) => write(`charge ${amount} as ${transactionId}`),
    notifyWarehouse: ({ orderId }) => write(`pack ${orderId}`),
    sendEmail: ({ to, subject }) => write(`write to ${to}: ${subject}`),
  })
  return { order: yield* spawn(machine, basket), commands }
})

describe("an order", () => {
  it.effect("is paid, shipped and delivered", () =>
    Effect.gen(function* () {
      const { order, commands } = yield* orderWithLog
      yield* order.send(E.RequestPayment())
      expect(commands).toEqual([])
      yield* order.send(E.ConfirmPayment({ transactionId: "t-1" }))
      expect(yield* order.state).toEqual(S.Paid({ ...basket, transactionId: "t-1" }))
      expect(commands).toEqual(["charge 42 as t-1", "pack A-7"])
      yield* order.send(E.Ship({ trackingNumber: "1Z" }))
      expect(commands.at(-1)).toBe("write to ada@example.org: Order A-7 is on its way: 1Z")
      yield* order.send(E.Deliver())
      expect(yield* order.awaitFinal).toEqual(S.Delivered({ orderId: "A-7", trackingNumber: "1Z" }))
    }),
  )

  it.effect("is cancelled when it is not paid within thirty minutes, and nothing is charged", () =>
    Effect.gen(function* () {
      const { order, commands } = yield* orderWithLog
      yield* order.send(E.RequestPayment())
      yield* TestClock.adjust("29 minutes")
      expect((yield* order.state)._tag).toBe("AwaitingPayment")
      yield* TestClock.adjust("1 minute")
      expect(yield* order.awaitFinal).toEqual(S.Cancelled({ orderId: "A-7", reason: "not paid in time" }))
      expect(commands).toEqual([])
    }),
  )

  it.effect("is not cancelled by the timeout once it is paid", () =>
    Effect.gen(function* () {
      const { order } = yield* orderWithLog
      yield* order.send(E.RequestPayment())
      yield* TestClock.adjust("29 minutes")
      yield* order.send(E.ConfirmPayment({ transactionId: "t-1" }))
      yield* TestClock.adjust("1 hour")
      expect((yield* order.state)._tag).toBe("Paid")
    }),
  )

  it.effect.each([S.Pending(basket), S.AwaitingPayment(basket)])("can be cancelled while it is %o", (state) =>
    Effect.sync(() => {
      const { state: end, requests } = simulate(Order, state, [E.Cancel({ reason: "changed my mind" })])
      expect(end).toEqual(S.Cancelled({ orderId: "A-7", reason: "changed my mind" }))
      expect(requests).toEqual([])
    }),
  )

  it.effect("takes the expected paths", () =>
    Effect.sync(() => {
      const pay = [E.RequestPayment(), E.ConfirmPayment({ transactionId: "t-1" })]
      const send = [E.Ship({ trackingNumber: "1Z" }), E.Deliver()]
      assertPath(Order, basket, [...pay, ...send], ["Pending", "AwaitingPayment", "Paid", "Shipped", "Delivered"])
      assertPath(Order, basket, [E.RequestPayment(), advance("30 minutes")], ["Pending", "AwaitingPayment", "Cancelled"])
      assertPath(Order, basket, [...pay, advance("1 day")], ["Pending", "AwaitingPayment", "Paid"])
    }),
  )

  it.effect("is never shipped without a payment", () =>
    Effect.sync(() => {
      assertNeverReaches(Order, basket, [E.Ship({ trackingNumber: "1Z" }), E.RequestPayment(), E.Ship({ trackingNumber: "1Z" })], "Shipped")
    }),
  )

  it.effect("refuses a late cancellation, names the accepted events, and does not change", () =>
    Effect.gen(function* () {
      const { order } = yield* orderWithLog
      yield* order.send(E.RequestPayment())
      yield* order.send(E.ConfirmPayment({ transactionId: "t-1" }))
      const error = yield* Effect.flip(order.send(E.Cancel({ reason: "changed my mind" })))
      expect(error).toMatchObject({ _tag: "InvalidTransition", state: "Paid", event: "Cancel", accepted: ["Ship"] })
      expect((yield* order.state)._tag).toBe("Paid")
    }),
  )
})
