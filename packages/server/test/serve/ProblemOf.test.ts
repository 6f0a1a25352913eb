import { EventReplayError, MachineStopped } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { problemOf } from "../../src/serve/ProblemOf.ts"

const Order = Schema.Struct({ total: Schema.Int, lines: Schema.Array(Schema.Struct({ count: Schema.Int })) })

const detailFor = (order: unknown) =>
  Effect.map(Effect.flip(Schema.decodeUnknownEffect(Order)(order, { errors: "all" })), ({ message: problem }) => {
    const held = new EventReplayError({ machine: "order", id: "one", state: "Open", event: "Add", sequence: 7, problem })
    return problemOf(held).detail
  })

describe("a problem", () => {
  it.effect("with stored data is answered in one line", () =>
    Effect.gen(function* () {
      assert.match(yield* detailFor({ lines: [] }), /: total is missing$/)
      assert.match(yield* detailFor({ total: 1, lines: [{ count: "x" }] }), /: Expected [^\n]* at lines\.0\.count$/)
      const both = yield* detailFor({ lines: [{}] })
      assert.match(both, /: total is missing; lines\.0\.count is missing$/)
    }),
  )

  it("of a server that takes nothing says why, not that something ended", () => {
    const stopped = new MachineStopped({ machine: "order", id: "one", state: "(unknown)", reason: "the engine was stopped" })
    assert.strictEqual(problemOf(stopped).detail, "the engine was stopped")
    assert.include(problemOf(new MachineStopped({ ...stopped, state: "Paid" })).detail, "ended in state Paid")
  })
})
