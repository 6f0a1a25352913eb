import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { readNumber } from "../../../src/extract/language/Numbers.ts"
import { findDates, lexicalDate } from "../../../src/text/Dates.ts"
import { stem } from "../../../src/text/Stem.ts"
import { relatedStems } from "../../../src/text/VerbLexicon.ts"
import { labelKey, tokenize } from "../../../src/text/Words.ts"

describe("words", () => {
  const split = (text: string) => tokenize(text).map((token) => token.text)
  it("keep what belongs to them", () => {
    assert.deepStrictEqual(split("Dr. O'Neill's U.S.-based C++ shop, v2.13!"), [
      "Dr",
      ".",
      "O'Neill",
      "'s",
      "U.S.",
      "-",
      "based",
      "C++",
      "shop",
      ",",
      "v2.13",
      "!",
    ])
    assert.deepStrictEqual(split("AT&T paid $1,200.50 (10%) on 2024-05-02."), [
      "AT&T",
      "paid",
      "$1,200.50",
      "(",
      "10%",
      ")",
      "on",
      "2024-05-02",
      ".",
    ])
  })
  it("are found in scripts without spaces", () => {
    assert.deepStrictEqual(split("東京都に住む"), ["東京", "都", "に", "住む"])
  })
  it("keep combining marks and joined emoji together", () => {
    assert.deepStrictEqual(split("nai\u0308ve 👩‍👩‍👧 👍🏽 🇩🇪"), ["nai\u0308ve", "👩‍👩‍👧", "👍🏽", "🇩🇪"])
  })
  it("of a label are its key", () => assert.strictEqual(labelKey("Country_of-Origin (ISO)"), "country of origin iso"))

  const pieces = [
    "a",
    "É",
    "e\u0301",
    "'s",
    "’",
    "-",
    ".",
    "U.S.",
    "東京",
    "👩‍👩‍👧",
    "\ud83d",
    "\ude00",
    " ",
    "\n",
    "12",
    "3.4",
    "$",
    "العربية",
    "हिन्दी",
    "\u200d",
  ]
  it.prop(
    "stand exactly where they say, in order, and leave out only space",
    [Arbitrary.array(Arbitrary.schema(Schema.Literals(pieces)), { maxLength: 20 })],
    ([some]) => {
      const text = some.join("")
      let end = 10
      for (const token of tokenize(text, 10)) {
        assert.isAtLeast(token.start, end)
        assert.strictEqual(text.slice(token.start - 10, token.end - 10), token.text)
        assert.match(text.slice(end - 10, token.start - 10), /^\s*$/)
        end = token.end
      }
      assert.match(text.slice(end - 10), /^\s*$/)
    },
  )
})

describe("stems", () => {
  const families = [
    "director directed directs direction directing",
    "publisher published publication publishing publishes",
    "composer composed composition composes",
    "producer produced production produces",
    "creator created creation creates",
    "writer wrote written writing writes",
    "founder founded foundation founding",
    "developer developed development",
    "employer employee employed employment",
    "location located locates",
    "city cities",
    "star stars starring starred",
    "invented inventor invention",
  ]
  for (const family of families) {
    it(`bring together ${family}`, () => assert.strictEqual(new Set(family.split(" ").map(stem)).size, 1))
  }
  it("keep apart what is not related", () => {
    const words = ["director", "publisher", "founder", "author", "city", "country", "language", "string", "bed"]
    assert.strictEqual(new Set(words.map(stem)).size, words.length)
  })
  it("are related where words can speak of the same", () => {
    assert.isTrue(relatedStems(stem("author")).has(stem("written")))
    assert.isTrue(relatedStems(stem("employer")).has(stem("works")))
    assert.isFalse(relatedStems(stem("author")).has(stem("born")))
  })
})

describe("dates", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["on 2 May 1984 and May 3, 1985", ["1984-05-02", "1985-05-03"]],
    ["2nd of May 1984", ["1984-05-02"]],
    ["in May 1984 or Sept. 1990", ["1984-05", "1990-09"]],
    ["in 1984", ["1984"]],
    ["1984-05-02", ["1984-05-02"]],
    ["am 2. Mai 1984", ["1984-05-02"]],
    ["el 2 de mayo de 1984", ["1984-05-02"]],
    ["le 14 juillet 1789", ["1789-07-14"]],
    ["on 31 February 1984 it may rain", ["1984-02"]],
    ["29 February 2000, 29 February 1900", ["2000-02-29", "1900-02"]],
    ["1998-04-00, 1998-00-10", []],
    ["page 12, room 3000", []],
  ]
  for (const [text, expected] of cases) {
    it(`in ${JSON.stringify(text)}`, () => assert.deepStrictEqual(findDates(tokenize(text)).map(lexicalDate), expected))
  }
})

describe("numbers", () => {
  const cases: ReadonlyArray<readonly [string, string | undefined]> = [
    ["1,200.5", "1200.5"],
    ["1.200,5", "1200.5"],
    ["1,200", "1200"],
    ["1,200,000", "1200000"],
    ["3,14", "3.14"],
    ["$3.1 million", "3100000"],
    ["2 billion", "2000000000"],
    ["007", "7"],
    ["-4.50", "-4.5"],
    ["415 people", "415"],
    ["1 234 567", "1234567"],
    ["12,34,56", undefined],
    ["none", undefined],
  ]
  for (const [text, expected] of cases) it(`in ${JSON.stringify(text)}`, () => assert.strictEqual(readNumber(text)?.lexical, expected))
})
