import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as JsonText from "../src/JsonText.ts"

const read = (text: string) => {
  const parsed = JsonText.parse(text)
  if ("problem" in parsed) throw new Error(`${parsed.line}:${parsed.column}: ${parsed.problem}`)
  return parsed
}

/** What JSON has no word for is not compared. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("reading JSON with positions", () => {
  it.prop("gives what JSON.parse gives, however it is indented", [Schema.Json, Schema.Literals([0, 2, 7])], ([value, indent]) => {
    const text = JSON.stringify(value, undefined, indent)
    expect(asJson(read(text).value)).toEqual(JSON.parse(text))
  })

  it.prop("refuses what JSON.parse refuses, wherever a text is cut off", [Schema.Json, Schema.Int], ([value, at]) => {
    const text = JSON.stringify(value)
    const cut = text.slice(0, Math.abs(at) % (text.length + 1))
    let accepted = true
    try {
      JSON.parse(cut)
    } catch {
      accepted = false
    }
    expect("problem" in JsonText.parse(cut)).toBe(!accepted)
  })

  it("knows where values are, and where what is missing should be", () => {
    const text = '{\n  "a": [1, {"b": true}],\r\n  "c": "x"\n}'
    const { positionOf } = read(text)
    expect(positionOf(["a", 1, "b"])).toEqual({ line: 2, column: 18 })
    expect(positionOf(["a"])).toEqual({ line: 2, column: 3 })
    expect(positionOf(["c"])).toEqual({ line: 3, column: 8 })
    expect(positionOf(["a", 0])).toEqual({ line: 2, column: 9 })
    expect(positionOf(["a", 1, "missing"])).toEqual({ line: 2, column: 12 })
    expect(positionOf([])).toEqual({ line: 1, column: 1 })
  })

  it.each([
    ["", "1:1: expected a value, found the end of the file"],
    ['{"a": 1,}', "1:9: expected the name of a field in double quotes"],
    ["[1 2]", '1:4: expected "," or "]", found "2"'],
    ['{\n  "a" 1}', '2:7: expected ":" after the name of a field, found "1"'],
    ['{"a": 1} x', '1:10: expected the end of the file, found "x"'],
    ['["a\nb"]', "1:2: a text with a line break"],
    ['["a', '1:2: a text that no " closes'],
    ['["\\x"]', "1:2: a text with a line break"],
    ["[01]", '1:3: expected "," or "]"'],
    ["{'a': 1}", "1:2: expected the name of a field in double quotes"],
    ["[NaN]", "1:2: expected a value"],
    ["// no\n{}", "1:1: expected a value"],
  ])("says what is wrong with %j", (text, message) => {
    expect(() => read(text)).toThrow(message)
  })

  it("reports a field that is there twice, and continues", () => {
    const { problems, value } = read('{"a": 1,\n "b": 2, "a": 3}')
    expect(problems).toEqual([{ line: 2, column: 10, problem: 'the field "a" is there twice; remove one' }])
    expect(value).toEqual(Object.assign(Object.create(null), { a: 3, b: 2 }))
  })

  it("takes __proto__ for a name like any other", () => {
    const { value } = read('{"__proto__": {"polluted": true}, "constructor": 1}')
    expect(Object.keys(value as object)).toEqual(["__proto__", "constructor"])
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })

  it("bounds how deep a text may be nested", () => {
    expect(() => read("[".repeat(1_000_000))).toThrow("nested more than 64 levels deep")
    expect(() => read('{"a":'.repeat(1_000_000))).toThrow("1:326: it is nested more than 64 levels deep")
    expect(read("[".repeat(64) + "]".repeat(64)).problems).toEqual([])
  })

  it("reads long texts and files with a byte order mark", () => {
    const long = "x".repeat(5_000_000)
    expect(read(`\ufeff["${long}"]`).value).toEqual([long])
  })
})
