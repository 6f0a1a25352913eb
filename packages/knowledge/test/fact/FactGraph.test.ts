import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Fact, Mention } from "../../src/fact/Fact.ts"
import { entityIri, factTriples, graphPrefixes } from "../../src/fact/FactGraph.ts"
import { lineOf, writeTurtle } from "../../src/rdf/Turtle.ts"
import { DocumentId, RunId } from "../../src/storage/Identity.ts"

const documentId = DocumentId.make("doc-0123456789ab")
const source = { documentId, runId: RunId.make("00000000-0000-8000-a000-000000000001"), extractor: "built-in" }
const text = "Ada Sol was born in Port Verran on 2 May 1984."
const mention = (type: string, words: string): Mention => {
  const start = text.indexOf(words)
  return { type: `urn:t:${type}`, text: words, span: { start, end: start + words.length }, confidence: 1 }
}
const ada = mention("Person", "Ada Sol")
const base = { subject: ada, quote: text, span: { start: 0, end: text.length }, confidence: 0.9 }
const born: Fact = { ...base, property: "urn:t:bornIn", object: { _tag: "Entity", mention: mention("City", "Port Verran") } }
const date: Fact = {
  ...base,
  property: "urn:t:birthDate",
  object: {
    _tag: "Value",
    text: "2 May 1984",
    span: { start: 35, end: 45 },
    datatype: "http://www.w3.org/2001/XMLSchema#date",
    lexical: "1984-05-02",
  },
}

describe("the graph of a document", () => {
  it.effect("says each fact and what words it rests on", () =>
    Effect.gen(function* () {
      const turtle = yield* Stream.mkString(
        writeTurtle(Stream.fromIterable(factTriples([born, date], source)), { prefixes: graphPrefixes }),
      )
      for (const part of [
        'rdfs:label "Ada Sol"',
        '<urn:t:birthDate> "1984-05-02"^^xsd:date',
        `<urn:t:bornIn> <${entityIri(documentId, mention("City", "Port Verran"))}>`,
        "a <urn:t:City>",
        `detent:quote "${text}"`,
        'detent:start "0"^^xsd:integer',
        'detent:confidence "0.9000"^^xsd:decimal',
        "a rdf:Statement",
      ]) {
        assert.include(turtle, part)
      }
    }),
  )

  it("names the same words of a class alike, and others not", () => {
    const other = (words: string, type = "urn:t:Person") => entityIri(documentId, { ...ada, text: words, type })
    assert.strictEqual(other("Ada\n  Sol"), other("Ada Sol"))
    assert.strictEqual(other("Ase\u0301"), other("As\u00e9"))
    assert.strictEqual(new Set([other("Ada Sol"), other("Ada Sol", "urn:t:Ship"), other("Ада Сол"), other("阿达")]).size, 4)
  })

  it("counts a fact said twice as one fact with two witnesses", () => {
    const again = { ...born, span: { start: 1, end: 5 } }
    const lines = factTriples([born, again], source).map(lineOf)
    assert.strictEqual(new Set(lines.filter((line) => line.includes("bornIn> <"))).size, 1)
    assert.strictEqual(new Set(lines.filter((line) => line.endsWith("#Statement> ."))).size, 2)
  })
})
