import { Engine, MemoryStore } from "@detent/durable"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { Approval, E, S } from "../durable/Approval.ts"

const Built = Approval.build({ remind: () => Effect.void })
const store = MemoryStore.layer
// Long intervals, because the test clock advances by weeks: few heartbeats and sweeps run meanwhile.
const engine = Engine.layer({ passivateAfter: "1 hour", lease: "6 hours", sweeper: { interval: "1 hour" } }).pipe(Layer.provide(store))

describe("an approval that waits for days", () => {
  it.effect("reminds every two days, escalates after a week, and is out of memory meanwhile", () =>
    Effect.gen(function* () {
      const engine = yield* Engine
      const expense = yield* engine.start(Built, "expense-1", { employee: "Ada", amount: 120 })
      yield* expense.send(E.Review())
      yield* TestClock.adjust("1 day")
      expect(yield* engine.live).toBe(0)
      yield* TestClock.adjust("5 days")
      expect(yield* expense.state).toEqual(S.WithManager({ employee: "Ada", amount: 120, reminders: 3 }))
      yield* TestClock.adjust("1 day")
      expect((yield* expense.state)._tag).toBe("WithDirector")
      yield* TestClock.adjust("3 days")
      yield* expense.send(E.Approve({ by: "Grace" }))
      expect(yield* expense.awaitFinal).toEqual(S.Approved({ employee: "Ada", amount: 120, by: "Grace" }))
    }).pipe(Effect.provide(engine)),
  )
})
