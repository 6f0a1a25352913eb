import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { QuoteFinder } from "../../../src/extract/model/Answer.ts"

const found = (text: string, quote: string) => new QuoteFinder(text).findAll(quote).map(({ start, end }) => text.slice(start, end))

describe("finding a quote", () => {
  it("is exact to the letter", () => {
    assert.deepStrictEqual(found("Ada met ada. Ada left.", "Ada"), ["Ada", "Ada"])
    assert.deepStrictEqual(found("Zürich and Zurich", "Zurich"), ["Zurich"])
    assert.deepStrictEqual(found("nothing of the kind", "something"), [])
  })

  it("passes over white space only", () => {
    assert.deepStrictEqual(found("in Port\n\t Verran on", "Port Verran"), ["Port\n\t Verran"])
    assert.deepStrictEqual(found("in Port Verran on", "  Port \n Verran "), ["Port Verran"])
    assert.deepStrictEqual(found("in Port\u00a0Verran on", "Port Verran"), ["Port\u00a0Verran"])
    assert.deepStrictEqual(found("in Port-Verran on", "Port Verran"), [])
    assert.deepStrictEqual(found("in PortVerran on", "Port Verran"), [])
  })

  it("does not find words inside of words, but in scripts that write without spaces", () => {
    assert.deepStrictEqual(found("Canada", "Ada"), [])
    assert.deepStrictEqual(found("Ångström's", "ström"), [])
    assert.deepStrictEqual(found("year 1984", "198"), [])
    assert.deepStrictEqual(found("(Ada)", "Ada"), ["Ada"])
    assert.deepStrictEqual(found("私は東京都に住む", "東京"), ["東京"])
    assert.deepStrictEqual(found("서울에서 만났다", "서울"), ["서울"])
    assert.deepStrictEqual(found("Москва-река", "Москва"), ["Москва"])
    assert.deepStrictEqual(found("Ada👩‍🚀Ada", "Ada"), ["Ada", "Ada"])
  })

  it("finds nothing in nothing", () => {
    assert.deepStrictEqual(found("text", "  "), [])
    assert.deepStrictEqual(found("", "x"), [])
  })

  const word = Schema.Literals(["Ada", "Port", "Verran", "東京", "👩‍🚀", "ø"])
  const space = Schema.Literals([" ", "\n", "\t  ", "\u00a0", " \r\n "])
  const texts = Arbitrary.array(Arbitrary.schema(Schema.Struct({ word, space })), { minLength: 1, maxLength: 12 })
  const position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 }))

  it.prop("finds every stretch of words whatever its white space, at its very place", [texts, position, position], ([parts, a, b]) => {
    const from = Math.min(a, b, parts.length - 1)
    const to = Math.min(Math.max(a, b), parts.length - 1)
    const text = parts.map(({ word, space }) => word + space).join("")
    const start = parts.slice(0, from).reduce((sum, { word, space }) => sum + word.length + space.length, 0)
    const inner = parts.slice(from, to + 1)
    const raw = inner.map(({ word, space }, index) => (index === inner.length - 1 ? word : word + space)).join("")
    const quote = inner.map(({ word }) => word).join(" ")
    const places = new QuoteFinder(text).findAll(quote)
    assert.isTrue(places.length > 0)
    for (const place of places) assert.strictEqual(text.slice(place.start, place.end).replace(/\s+/gu, " "), quote)
    // Where the text is as quoted somewhere, only such places count.
    if (raw === quote || !text.includes(quote))
      assert.isTrue(places.some((place) => place.start === start && place.end === start + raw.length))
  })
})
