import { assert, describe, it } from "vitest"
import { coloured, oneLine, plain, printable, printableJson } from "../../src/output/Style.ts"
import { pairsText } from "../../src/output/Table.ts"

const hostile = "order\u001b]0;owned\u0007\u009b2J\u007f\u202edetrever\u2066\u2028"
/** Control characters but line ends, and marks that reorder the text around them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be printed
const controls = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/

describe("texts that are printed", () => {
  it("hold no control characters and no reordering marks of ids, whatever the form", () => {
    for (const text of [oneLine(hostile), printable(hostile), printableJson({ id: hostile }), pairsText([["id", hostile]], plain)])
      assert.notMatch(text, controls)
  })

  it("keep their lines and the colours of the command, and show no colour of an id", () => {
    assert.strictEqual(printable(`${coloured.red("red")}\nnext`), "\u001b[31mred\u001b[39m\nnext")
    assert.strictEqual(printable(`order\u001b[8m ${coloured.red("is\u001b[8m held")}`), "order [8m \u001b[31mis [8m held\u001b[39m")
  })

  it("are the same values as JSON", () => {
    assert.deepStrictEqual(JSON.parse(printableJson({ id: hostile })), { id: hostile })
  })
})
