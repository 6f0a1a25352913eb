import { DefinitionError, Machine } from "@detent/machine"
import { arbitrary } from "@detent/machine/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { Order, OrderState } from "./machines.ts"

const sample = <A>(values: Arbitrary.Arbitrary<A>, seed = 1) => Effect.runSync(Arbitrary.sampleEffect(values, { count: 50, seed }))

describe("generated values", () => {
  it("are states of every tag, and fit their schemas", () => {
    const states = sample(arbitrary(Order).state())
    expect(new Set(states.map((state) => state._tag))).toEqual(new Set(OrderState.$tags))
    for (const state of states) expect(OrderState[state._tag].is(state)).toBe(true)
  })

  it("are of one tag where one is named", () => {
    const amounts = sample(arbitrary(Order).state("Paid")).map((state) => typeof state.transactionId)
    expect(new Set(amounts)).toEqual(new Set(["string"]))
    expect(sample(arbitrary(Order).event("Cancel")).every((event) => typeof event.reason === "string")).toBe(true)
  })

  it("are events the machine accepts at its boundary, and lists of them", () => {
    for (const event of sample(arbitrary(Order).event())) expect(Machine.checkEvent(Order, event)).toBeUndefined()
    for (const events of sample(arbitrary(Order).events({ minLength: 2, maxLength: 3 }))) expect([2, 3]).toContain(events.length)
  })

  it("are the same for the same seed", () => {
    expect(sample(arbitrary(Order).event(), 7)).toEqual(sample(arbitrary(Order).event(), 7))
    expect(sample(arbitrary(Order).event(), 7)).not.toEqual(sample(arbitrary(Order).event(), 8))
  })

  it("of a tag that does not exist are refused", () => {
    expect(() => arbitrary(Order).state("Lost" as never)).toThrow(DefinitionError)
  })
})
