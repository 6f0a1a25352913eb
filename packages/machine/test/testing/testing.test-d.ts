/** What the compiler refuses in tests. */
import { arbitrary, assertPath, assertReaches, createTestHarness, explore, simulate } from "@detent/machine/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { LampEvent, Order, OrderEvent, Session, start } from "./machines.ts"

// A foreign event.
// @ts-expect-error
simulate(Order, start, [LampEvent.Switch()])

// An input that is none.
// @ts-expect-error
simulate(Order, { orderId: "7" }, [])

// A guard that is not a slot, and an effect that is not a guard.
// @ts-expect-error
simulate(Order, start, [], { guards: { instock: () => true } })
// @ts-expect-error
simulate(Order, start, [], { guards: { chargeCard: () => true } })

// A guard stub knows its parameters, and answers with a boolean.
simulate(Order, start, [], { guards: { inStock: ({ orderId }) => orderId.length > 0 } })
// @ts-expect-error
simulate(Order, start, [], { guards: { inStock: () => "yes" } })

// A tag that is not a state.
// @ts-expect-error
assertPath(Order, start, [OrderEvent.RequestPayment()], ["Pending", "Lost"])
// @ts-expect-error
assertReaches(Session, undefined, "Pending")

// The state of a simulation is that of the machine.
const { state, path } = simulate(Order, start, [])
export const tag: "Pending" | "Awaiting" | "Paid" | "Picking" | "Packing" | "Delivered" | "Cancelled" = state._tag
// @ts-expect-error
export const first: "Lost" | undefined = path[0]

// A generator of one tag makes values of that tag.
arbitrary(Order)
  .event("Cancel")
  .pipe((values) => values["~A"])
// @ts-expect-error
arbitrary(Order).event("Lost")

// A harness wants what its effects want, and nothing else.
export const plain: Effect.Effect<unknown, unknown, Scope.Scope> = createTestHarness(Order, start)
// @ts-expect-error
export const guarded = createTestHarness(Order, start, { effects: { inStock: () => Effect.void } })
// @ts-expect-error
export const lost = createTestHarness(Order, start).pipe(Effect.flatMap((order) => order.expectState("Lost")))

// @ts-expect-error
explore(Order, { starts: [{ orderId: 7 }] })
