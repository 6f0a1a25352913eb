import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Fact, Mention } from "../../src/fact/Fact.ts"
import { splitByConfidence } from "../../src/fact/Fact.ts"

const sure = Schema.Literals([0, 0.3, 0.5, 0.7, 1])
const span = { start: 0, end: 1 }
const mention = (confidence: number): Mention => ({ type: "urn:T", text: "x", span, confidence })
const factOf = (subject: number, object: number, confidence: number): Fact => ({
  subject: mention(subject),
  property: "urn:p",
  object: { _tag: "Entity", mention: mention(object) },
  quote: "x",
  span,
  confidence,
})

describe("the review list", () => {
  it("takes what is not sure enough, in itself or in one of its ends", () => {
    const facts = [factOf(1, 1, 0.5), factOf(1, 1, 0.49), factOf(0.4, 1, 0.9), factOf(1, 0.4, 0.9)]
    assert.deepStrictEqual(splitByConfidence(facts, 0.5), { accepted: facts.slice(0, 1), review: facts.slice(1) })
  })

  const facts = Arbitrary.array(Arbitrary.schema(Schema.Tuple([sure, sure, sure])), { maxLength: 10 })
  it.prop("loses nothing and keeps the order", [facts, sure], ([sureness, threshold]) => {
    const all = sureness.map((each) => factOf(...each))
    const { accepted, review } = splitByConfidence(all, threshold)
    assert.deepStrictEqual(
      all.filter((fact) => accepted.includes(fact)),
      accepted,
    )
    assert.deepStrictEqual(
      all.filter((fact) => review.includes(fact)),
      review,
    )
    assert.strictEqual(accepted.length + review.length, all.length)
  })
})
