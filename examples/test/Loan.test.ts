import { schemaOf } from "@detent/machine"
import { assertPath, createTestHarness } from "@detent/machine/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { E, Loan, S } from "../readme/Loan.ts"

describe("the loan of the README", () => {
  it("is decided on by itself at the third paper, by its amount", () => {
    const papers = [E.Paper(), E.Paper(), E.Paper()]
    assertPath(Loan, { amount: 5000, papers: 0 }, papers, ["Collecting", "Granted"])
    assertPath(Loan, { amount: 5001, papers: 0 }, papers, ["Collecting", "Declined"])
  })

  it.live("runs in a harness without a test clock of the test's own", () =>
    Effect.gen(function* () {
      const loan = yield* createTestHarness(Loan, { amount: 1, papers: 2 })
      yield* loan.send(E.Paper())
      assert.strictEqual(loan.state._tag, "Granted")
    }).pipe(Effect.scoped),
  )

  it("has a schema for all its states, which decodes what comes from outside", () => {
    const decode = Schema.decodeUnknownSync(schemaOf(S))
    assert.deepStrictEqual(decode({ _tag: "Granted", amount: 7 }), S.Granted({ amount: 7 }))
    assert.throws(() => decode({ _tag: "Granted", amount: "7" }))
    assert.deepStrictEqual(S.$tags, ["Collecting", "Granted", "Declined"])
  })
})
