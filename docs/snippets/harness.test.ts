import { createTestHarness } from "@detent/machine/testing"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { E, Order } from "./Order.ts"

it.effect("an order that is charged is paid", () =>
  Effect.gen(function* () {
    const order = yield* createTestHarness(Order, { total: 42 }, { effects: { charge: () => Effect.succeed("receipt-1") } })
    yield* order.send(E.Pay())
    yield* order.expectState("Paid")
    expect(order.requests).toEqual([{ slot: "charge", parameters: { total: 42 } }])
  }),
)

it.effect("an order that is not paid within 30 minutes is cancelled", () =>
  Effect.gen(function* () {
    const order = yield* createTestHarness(Order, { total: 42 })
    yield* order.advance("30 minutes")
    yield* order.expectState("Cancelled")
  }),
)
