import { describe, expect, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { JsonSplitter, type Layout } from "../../src/json/JsonSplitter.ts"
import { behind, type Position, type Row } from "../../src/Row.ts"
import { FileInvalid } from "../../src/TableProblem.ts"

interface Splitting {
  readonly chunk?: (length: number) => number
  readonly maxRowBytes?: number
  readonly from?: { readonly layout: Layout; readonly position: Position }
}

const split = (bytes: Uint8Array, { chunk = (length) => length, maxRowBytes = 1_000_000, from }: Splitting = {}): ReadonlyArray<Row> => {
  const splitter = new JsonSplitter({ file: "f.json", maxRowBytes, ...(from === undefined ? {} : { from }) })
  const items: Array<Row> = []
  for (let at = from?.position.offset ?? 0; at < bytes.length; ) {
    const length = Math.max(1, chunk(bytes.length))
    items.push(...splitter.push(bytes.subarray(at, at + length)))
    at += length
  }
  return [...items, ...splitter.end()]
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const textsOf = (text: string, options?: Splitting) => split(bytesOf(text), options).map((item) => item.text)

/** Chunks of lengths that follow from a number, so that a failing case can be repeated. */
const chunking = (seed: number) => {
  let state = Math.abs(seed) + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return 1 + (state % 7)
  }
}

const Gap = Schema.Literals(["", " ", "\n", "\r\n", "\t ", " \n \n "])
const Elements = Schema.Array(Schema.Tuple([Schema.Json, Gap, Gap]))

const arrayOf = (elements: ReadonlyArray<readonly [unknown, string, string]>, indent: number) =>
  `[${elements.map(([value, before, after]) => `${before}${JSON.stringify(value, undefined, indent)}${after}`).join(",")}]`

const verdict = (text: string, options?: Splitting): "items" | "refused" => {
  try {
    for (const item of split(bytesOf(text), options)) JSON.parse(item.text ?? "")
    return "items"
  } catch {
    return "refused"
  }
}

describe("splitting an array", () => {
  it.prop(
    "finds what JSON.parse finds, however the bytes come",
    [Elements, Schema.Literals([0, 2]), Schema.Int],
    ([elements, indent, seed]) => {
      const text = arrayOf(elements, indent)
      const items = split(bytesOf(text), { chunk: chunking(seed) })
      expect(items.map((item) => JSON.parse(item.text ?? ""))).toEqual(JSON.parse(text))
      expect(items.map((item) => item.index)).toEqual(elements.map((_, index) => index))
      const bytes = Buffer.from(text)
      for (const item of items) {
        expect(bytes.toString("utf8", item.offset, item.endOffset)).toBe(item.text)
        expect(item.line).toBe(bytes.toString("utf8", 0, item.offset).split("\n").length)
      }
    },
  )

  it.prop("can continue behind any item", [Elements, Schema.Int], ([elements, seed]) => {
    const bytes = bytesOf(arrayOf(elements, 1))
    const all = split(bytes)
    for (const item of all) {
      const position = behind(item)
      expect(split(bytes, { chunk: chunking(seed), from: { layout: "array", position } })).toEqual(all.slice(position.index))
    }
  })

  it.prop(
    "accepts a text that was damaged exactly where JSON.parse does, however the bytes come",
    [Elements, Schema.Int, Schema.Int, Schema.Literals(["", ",", "[", "]", "{", "}", '"', "\\", "1", "x", " ", ":"])],
    ([elements, at, seed, put]) => {
      const text = arrayOf(elements, 0)
      const place = Math.abs(at) % text.length
      const damaged = `${text.slice(0, place)}${put}${text.slice(place + 1)}`.toWellFormed()
      let expected: string
      try {
        expected = Array.isArray(JSON.parse(damaged)) ? "items" : "other"
      } catch {
        expected = "refused"
      }
      // What begins with { is taken for lines.
      if (expected === "other" || damaged.trimStart().startsWith("{")) return
      expect(verdict(damaged)).toBe(expected)
      expect(verdict(damaged, { chunk: chunking(seed) })).toBe(expected)
    },
    { arbitrary: { runs: 400 } },
  )

  it.each([
    ["[1, 2 ", "it ends before its array does (item 2, line 1, byte 6)"],
    ['[{"id": 1}, {"id"', "it ends inside an item (item 1, line 1, byte 12)"],
    ['[\n{"id": 1},\n{"id": "2}\n]', "it ends inside an item (item 1, line 3, byte 13)"],
    ["[1 2]", "2 stands where a comma or ] is expected (item 1, line 1, byte 3)"],
    ["[1,]", "] stands where an item is expected (item 1, line 1, byte 3)"],
    ["[,1]", ", stands where an item is expected (item 0, line 1, byte 1)"],
    ["[1] [2]", "[ follows the end of its array (item 1, line 1, byte 4)"],
    ['[{"kids": [1, 2}, 3]', "} closes what [ opened (item 0, line 1, byte 15)"],
    ["hello", "it starts with h, not with [ or { (item 0, line 1, byte 0)"],
    ["\u0089PNG", "it starts with the byte 0xc2, not with [ or { (item 0, line 1, byte 0)"],
    [`[${"[".repeat(600)}`, "it nests deeper than 500 levels (item 0, line 1, byte 501)"],
  ])("%s: tells what is wrong and where", (text, message) => {
    expect(() => textsOf(text)).toThrow(`f.json: ${message}; correct the file`)
    expect(() => textsOf(text, { chunk: () => 1 })).toThrow(FileInvalid)
    expect(() => textsOf(text, { chunk: () => 1 })).toThrow(message)
  })

  it("hands on a bad item, and the others after it", () => {
    expect(textsOf('[{"id": nope}, 5, "a]b", [1, {"a": "}"}], {"id": 2}]')).toEqual([
      '{"id": nope}',
      "5",
      '"a]b"',
      '[1, {"a": "}"}]',
      '{"id": 2}',
    ])
  })

  it("passes over an item that is too large without keeping it", () => {
    const text = `[{"id":1},"${"x".repeat(5000)}",{"id":3}]`
    for (const chunk of [(length: number) => length, () => 100]) {
      expect(split(bytesOf(text), { chunk, maxRowBytes: 1000 }).map(({ text, problem }) => text ?? problem)).toEqual([
        '{"id":1}',
        "too_large",
        '{"id":3}',
      ])
    }
  })

  it("has no items in [] and in nothing", () => {
    expect(textsOf(" [ \n ] ")).toEqual([])
    expect(textsOf("")).toEqual([])
    expect(textsOf(" \n")).toEqual([])
  })

  it("passes over a byte order mark", () => {
    expect(textsOf("\ufeff[1]", { chunk: () => 1 })).toEqual(["1"])
    expect(textsOf('\ufeff{"id":1}\n{"id":2}', { chunk: () => 1 })).toEqual(['{"id":1}', '{"id":2}'])
  })
})

describe("splitting lines", () => {
  const Line = Schema.Tuple([Schema.Record(Schema.String, Schema.Json), Schema.Literals(["\n", "\r\n", "\n\n", " \n\t\n"])])

  it.prop(
    "finds every line that is not blank, however the bytes come, and can continue behind any",
    [Schema.Array(Line), Schema.Int],
    ([lines, seed]) => {
      const text = lines.map(([value, end]) => `${JSON.stringify(value)}${end}`).join("")
      const items = split(bytesOf(text), { chunk: chunking(seed) })
      expect(items.map((item) => JSON.parse(item.text ?? ""))).toEqual(lines.map(([value]) => JSON.parse(JSON.stringify(value))))
      for (const item of items) {
        const { line, offset } = item
        const position = behind(item)
        expect(line).toBe(Buffer.from(text).toString("utf8", 0, offset).split("\n").length)
        expect(split(bytesOf(text), { from: { layout: "lines", position } })).toEqual(items.slice(position.index))
      }
    },
  )

  it("takes a last line without an end, and a line that is not JSON", () => {
    expect(textsOf('{"id":1}\n{"id":\n{"id":3}')).toEqual(['{"id":1}', '{"id":', '{"id":3}'])
  })

  it("passes over a line that is too large", () => {
    const text = `{"id":1}\n{"x":"${"y".repeat(3000)}"}\n{"id":3}\n`
    for (const chunk of [(length: number) => length, () => 64]) {
      expect(split(bytesOf(text), { chunk, maxRowBytes: 1000 }).map(({ text, problem, line }) => [text ?? problem, line])).toEqual([
        ['{"id":1}', 1],
        ["too_large", 2],
        ['{"id":3}', 3],
      ])
    }
  })
})
