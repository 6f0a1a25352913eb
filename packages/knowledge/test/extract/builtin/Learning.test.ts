import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { calibrate, calibrationPrior, chancesOf, confidenceOf, trainRanking } from "../../../src/extract/builtin/BuiltInModel.ts"
import { Evidence } from "../../../src/extract/builtin/Evidence.ts"

const integer = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: most }))

describe("evidence", () => {
  const observation = Schema.Struct({ relation: integer(2), value: Schema.Literals(["by", "in", "of"]), positive: Schema.Boolean })
  const apply = (evidence: Evidence, { relation, value, positive }: typeof observation.Type, weight: number) => {
    evidence.see("before", [value], weight)
    if (!positive) return
    evidence.supported(relation, weight)
    evidence.support(relation, "before", [value], weight)
  }
  const odds = (evidence: Evidence) => ["by", "in", "of", "never"].map((value) => [...evidence.odds("before", value)])
  const observations = Arbitrary.array(Arbitrary.schema(observation), { maxLength: 20 })

  it.prop("taken back is as if it had never been", { kept: observations, taken: observations }, ({ kept, taken }) => {
    const one = new Evidence(3)
    const other = new Evidence(3)
    for (const each of kept) apply(one, each, 1)
    for (const each of [...kept, ...taken]) apply(other, each, 1)
    for (const each of taken) apply(other, each, -1)
    const [expected, actual] = [odds(one).flat(), odds(other).flat()]
    for (const [at, value] of expected.entries()) assert.closeTo(actual[at] ?? Number.NaN, value, 1e-9)
  })

  it.prop("says the same after JSON, also when relations have moved", { all: observations }, ({ all }) => {
    const evidence = new Evidence(3)
    for (const each of all) apply(evidence, each, 1)
    const counts = JSON.parse(JSON.stringify(evidence.toCounts()))
    assert.deepStrictEqual(odds(Evidence.fromCounts(counts, 3, (relation) => relation)), odds(evidence))
    const moved = Evidence.fromCounts(counts, 4, (relation) => [3, undefined, 0][relation])
    for (const value of ["by", "in", "of"]) {
      assert.closeTo(moved.odds("before", value)[3] ?? Number.NaN, evidence.odds("before", value)[0] ?? Number.NaN, 1e-12)
      assert.closeTo(moved.odds("before", value)[0] ?? Number.NaN, evidence.odds("before", value)[2] ?? Number.NaN, 1e-12)
    }
  })

  it("speaks for a relation whose objects often have a value, and against one whose objects never do", () => {
    const evidence = new Evidence(2)
    for (let at = 0; at < 50; at++) evidence.see("before", [at < 5 ? "by" : "other"], 1)
    for (let at = 0; at < 4; at++) {
      evidence.supported(0, 1)
      evidence.support(0, "before", ["by"], 1)
      evidence.supported(1, 1)
      evidence.support(1, "before", ["other"], 1)
    }
    assert.isAbove(evidence.odds("before", "by")[0] ?? 0, 1)
    assert.isBelow(evidence.odds("before", "by")[1] ?? 0, -1)
    assert.deepStrictEqual([...new Evidence(1).odds("before", "by")], [0])
  })
})

describe("evidence of relations with the same kinds of objects", () => {
  /** Relation 0 has ten objects of the shape "name"; relations 1 and 2 have one object of another shape. */
  const counted = (groups?: ReadonlyArray<string>) => {
    const evidence = new Evidence(3, groups)
    for (let at = 0; at < 60; at++) for (const clue of ["shape", "before"]) evidence.see(clue, [at < 15 ? "name" : "plain"], 1)
    const support = (relation: number, value: string) => {
      evidence.supported(relation, 1)
      for (const clue of ["shape", "before"]) evidence.support(relation, clue, [value], 1)
    }
    for (let at = 0; at < 10; at++) support(0, "name")
    support(1, "plain")
    support(2, "plain")
    return evidence
  }
  const shared = counted(["person", "person", "place"])

  it("tells how the objects of the others look", () => {
    const [, grouped = 0, alone = 0] = shared.odds("shape", "name")
    assert.isAbove(grouped, alone)
    assert.strictEqual(alone, counted().odds("shape", "name")[2])
  })

  it("tells nothing about the words around them", () =>
    assert.deepStrictEqual(shared.odds("before", "name"), counted().odds("before", "name")))
})

describe("a ranking", () => {
  const row = (...values: ReadonlyArray<number>) => Float64Array.from(values)
  const examples = Array.from({ length: 20 }, () => ({ rows: [row(1, 0, 1), row(0, 1, 1), row(0, 0, 1)], right: [true, false, false] }))
  const options = { prior: row(0, 0, 0), regularization: 0.1, rounds: 100 }

  it("learns which feature tells the right choice, and to choose nothing", () => {
    const weights = trainRanking([...examples, ...examples.map(({ rows }) => ({ rows: rows.slice(1), right: [false, false] }))], options)
    assert.isAbove(weights[0] ?? 0, 2)
    assert.isBelow(weights[1] ?? 0, 0)
    assert.isBelow(weights[2] ?? 0, 0)
  })

  it("stays at the prior under strong regularization or without examples", () => {
    const prior = row(0.5, -0.5, 0.25)
    assert.deepStrictEqual(trainRanking([], { ...options, prior }), prior)
    const held = trainRanking(examples, { ...options, prior, regularization: 1e6 })
    for (const [at, weight] of held.entries()) assert.closeTo(weight, prior[at] ?? 0, 0.05)
  })

  it("comes out the same every time", () => assert.deepStrictEqual(trainRanking(examples, options), trainRanking(examples, options)))

  it.prop(
    "gives chances that leave some for nothing",
    [Arbitrary.array(Arbitrary.schema(Schema.Finite.check(Schema.isBetween({ minimum: -700, maximum: 700 }))), { maxLength: 8 })],
    ([scores]) => {
      const chances = chancesOf(scores)
      assert.isTrue(chances.every((chance) => chance >= 0 && chance <= 1))
      assert.isAtMost(
        chances.reduce((sum, chance) => sum + chance, 0),
        1 + 1e-9,
      )
    },
  )
})

describe("calibration", () => {
  const outcomes = (count: number, chance: number, share: number) =>
    Array.from({ length: count }, (_, at) => ({ chance, holds: at < share * count }))

  it("makes confidences mean what they say", () => {
    const found = calibrate([...outcomes(2000, 0.9, 0.6), ...outcomes(2000, 0.5, 0.3), ...outcomes(2000, 0.1, 0.1)])
    assert.closeTo(confidenceOf(found, 0.9), 0.6, 0.05)
    assert.closeTo(confidenceOf(found, 0.1), 0.1, 0.05)
  })

  it("stays with what is generally so when there is little to go by", () => {
    assert.deepStrictEqual(calibrate([]), calibrationPrior)
    const little = calibrate(outcomes(3, 0.5, 1))
    assert.closeTo(little.shift, calibrationPrior.shift, 0.2)
  })

  it("never calls the likelier less sure", () => {
    const upsideDown = calibrate([...outcomes(500, 0.9, 0), ...outcomes(500, 0.1, 1)])
    assert.isAbove(confidenceOf(upsideDown, 0.9), confidenceOf(upsideDown, 0.1))
  })
})
