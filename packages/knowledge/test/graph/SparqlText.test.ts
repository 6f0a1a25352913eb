import { assert, describe, it } from "@effect/vitest"
import { formStart, nestingOf, withoutTexts } from "../../src/graph/SparqlText.ts"

const formOf = (sparql: string) => sparql.slice(formStart(sparql)).split(" ")[0]

describe("the text of a query", () => {
  it("names its form behind prefixes, base and comments", () => {
    assert.strictEqual(formOf("SELECT *"), "SELECT")
    assert.strictEqual(formOf("PREFIX x: <urn:> # construct\nCONSTRUCT { }"), "CONSTRUCT")
    assert.strictEqual(formOf("prefix : <urn:a#b>base<urn:>\n\tdescribe <x>"), "describe")
    assert.strictEqual(formOf("PREFIX select: <urn:> ASK { }"), "ASK")
    assert.strictEqual(formOf("PREFIX x <urn:> ASK { }"), "PREFIX", "the declaration is not complete")
    assert.strictEqual(formStart(" # nothing"), 10)
  })

  it("is nested as deep as its brackets, without those in texts, addresses and comments", () => {
    assert.strictEqual(nestingOf("SELECT * { { ?s ?p (1 2) } }"), 3)
    assert.strictEqual(nestingOf(`SELECT * { ?s ?p "{{{\\"{", '''{'{''', <urn:{{{> # {{{\n }`), 1)
    assert.strictEqual(nestingOf("SELECT * { FILTER(?a < 3 && ?b > 2) }"), 2)
  })

  it("is read without texts, addresses and comments", () => {
    assert.strictEqual(withoutTexts(`ASK { x:a <urn:x:y> "z:\\"z" } # q:q`), "ASK { x:a     }  ")
  })

  it("is read in one pass, whatever it holds", () => {
    // Square time would take minutes for each of these.
    for (const part of ['"\\', '"', "<", "<a", "#", "prefix ", "prefix x:", "{", "'''", "a:", " "]) {
      const text = part.repeat(1_000_000 / part.length)
      formStart(text)
      nestingOf(text)
      withoutTexts(text)
    }
  })
})
