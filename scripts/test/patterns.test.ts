import { assert, describe, it } from "@effect/vitest"
import { patternsOf } from "../patterns/collect.ts"

const found = (source: string) =>
  patternsOf("packages/durable/src/x.ts", source).map(({ pattern }) =>
    pattern === undefined ? undefined : `/${pattern.source}/${pattern.flags}`,
  )

describe("the regular expressions of a source", () => {
  it("are its literals, wherever they stand", () => {
    assert.deepStrictEqual(found("const a = /a+$/gu; const f = (x: string): boolean => x.split(/\\s*,\\s*/).length > 1 // not /this/"), [
      "/a+$/gu",
      "/\\s*,\\s*/",
    ])
  })

  it("are those made of constants of the file", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a source
    const source = 'const digit = "[0-9]"; const word = /\\w+/; const all = new RegExp(`^${digit}+$`, "u"); RegExp(word.source + "?")'
    assert.deepStrictEqual(found(source), ["/\\w+/", "/^[0-9]+$/u", "/\\w+?/"])
    assert.deepStrictEqual(found('new RegExp(["a", String.raw`\\d`].join("|"))'), ["/a|\\d/"])
  })

  it("that are computed are named without a pattern", () => {
    const [computed] = patternsOf("x.ts", 'import { names } from "./y.ts"\nnew RegExp(names.join("|"))')
    assert.deepStrictEqual(computed, { file: "x.ts", line: 2, text: 'new RegExp(names.join("|"))', pattern: undefined })
  })
})
