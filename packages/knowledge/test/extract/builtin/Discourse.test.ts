import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readDocument } from "../../../src/document/DocumentReader.ts"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { readHeading } from "../../../src/extract/builtin/Structure.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"
import { makePdf } from "../../document/makePdf.ts"

const prefixes = `@prefix : <https://example.org/town#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
  @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .`

const town = `${prefixes}
  :Person a owl:Class ; rdfs:label "person" . :Company a owl:Class ; rdfs:label "company" . :City a owl:Class ; rdfs:label "city" .
  :foundedBy a owl:ObjectProperty ; rdfs:label "founded by" ; rdfs:domain :Company ; rdfs:range :Person .
  :headquarters a owl:ObjectProperty ; rdfs:label "headquartered in" ; rdfs:domain :Company ; rdfs:range :City .
  :employees a owl:DatatypeProperty ; rdfs:label "employees" ; rdfs:domain :Company ; rdfs:range xsd:integer .
  :bornIn a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Person ; rdfs:range :City .`

/** The facts that the labels of an ontology alone lead to, sure enough to be looked at. */
const factsOf = Effect.fnUntraced(function* (text: string, turtle = town) {
  const index = yield* loadOntology({ name: "town.ttl", text: turtle })
  const chunk = { index: 0, text, offset: 0 }
  const extractor = BuiltIn.make({ leastConfidence: 0.3 })
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return facts
    .map(
      ({ subject, property, object }) =>
        `${subject.text} | ${index.label(property)} | ${object._tag === "Entity" ? object.mention.text : object.lexical}`,
    )
    .sort()
})

describe("a heading", () => {
  const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    ["that names a part of the document is not a subject", "# Early Life\n\nShe was born in Varno.\n", []],
    ["without marks is not a subject, either", "Annual Report 1999\n\nIt is headquartered in Varno.\n", []],
    ["that the ontology has a label for is not a subject", "# Companies\n\nIt was founded by Tamsin Orr.\n", []],
    [
      "does not stand in the way of the sentence's own subject",
      "## History\n\nBolder Freight was founded by Tamsin Orr.\n",
      ["Bolder Freight | founded by | Tamsin Orr"],
    ],
    [
      "that is a name is what the text refers to",
      "# Bolder Freight\n\nIt was founded by Tamsin Orr.\n",
      ["Bolder Freight | founded by | Tamsin Orr"],
    ],
    [
      "of a part leaves the subject to the title",
      "# Bolder Freight\n\n## Early Years\n\nIt was founded by Tamsin Orr.\n",
      ["Bolder Freight | founded by | Tamsin Orr"],
    ],
    [
      "right above a line does not merge with it",
      "Annual Report of the Harbour and its Warehouses\nBolder Freight was founded by Tamsin Orr and is headquartered in Varno.\n",
      ["Bolder Freight | founded by | Tamsin Orr", "Bolder Freight | headquartered in | Varno"],
    ],
    [
      "is not seen in a text that is broken to a width",
      "In the summer of that year the merchant\nTamsin Orr was born in Varno, of all places that one can think of.\n",
      ["Tamsin Orr | born in | Varno"],
    ],
  ]
  for (const [what, text, expected] of cases) {
    it.effect(what, () => Effect.map(factsOf(text), (facts) => assert.deepStrictEqual(facts, expected)))
  }

  it.effect("of a PDF does not merge with the next line", () =>
    Effect.gen(function* () {
      const bytes = makePdf([
        ["The Merchants of the Northern Harbour", "Bolder Freight was founded by Tamsin Orr in the year of the flood."],
      ])
      const { text } = yield* readDocument({ name: "merchants.pdf" }, bytes)
      assert.deepStrictEqual(yield* factsOf(text), ["Bolder Freight | founded by | Tamsin Orr"])
    }),
  )

  it("is read without its marks", () => {
    const read = (text: string) => readHeading({ text, start: 3, end: 3 + text.length })?.text
    assert.deepStrictEqual(["# Tamsin Orr", "## Tamsin Orr ##  ", "== Tamsin Orr ==", "# C#", "####### no", "# ", "==x"].map(read), [
      "Tamsin Orr",
      "Tamsin Orr",
      "Tamsin Orr",
      "C#",
      undefined,
      undefined,
      undefined,
    ])
  })

  it("is read in one pass, whatever it is made of", () => {
    for (const filling of [" ", " #", "# ", " =", "== ", "#"]) {
      const text = `# ${filling.repeat(100_000)}x`
      assert.isDefined(readHeading({ text, start: 0, end: text.length }))
    }
  })
})

describe("a pronoun", () => {
  const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    [
      "that does something is who did it",
      "Tamsin Orr was born in Varno. She founded Bolder Freight.",
      ["Bolder Freight | founded by | Tamsin Orr", "Tamsin Orr | born in | Varno"],
    ],
    [
      "after a date is who did it",
      "Tamsin Orr was born in Varno. In 1901 she founded Bolder Freight.",
      ["Bolder Freight | founded by | Tamsin Orr", "Tamsin Orr | born in | Varno"],
    ],
    [
      "for a person is not the company that the sentence before is about",
      "Bolder Freight Company hired Tamsin Orr. She was born in Varno.",
      ["Tamsin Orr | born in | Varno"],
    ],
    [
      "for a thing is not the person that the sentence before is about",
      "Tamsin Orr was born in Kell and founded Bolder Freight. It is headquartered in Varno.",
      ["Bolder Freight | founded by | Tamsin Orr", "Bolder Freight | headquartered in | Varno", "Tamsin Orr | born in | Kell"],
    ],
    ["without anything before it is nobody", "She founded Bolder Freight.", []],
  ]
  for (const [what, text, expected] of cases) {
    it.effect(what, () => Effect.map(factsOf(text), (facts) => assert.deepStrictEqual(facts, expected)))
  }
})

describe("an own ontology without examples", () => {
  const ontologies: ReadonlyArray<readonly [string, string]> = [
    [
      "with labels",
      `:Restaurant a owl:Class ; rdfs:label "restaurant" . :City a owl:Class ; rdfs:label "city" .
      :place a owl:ObjectProperty ; rdfs:label "located in" ; rdfs:domain :Restaurant ; rdfs:range :City .`,
    ],
    [
      "with names only",
      `:Restaurant a owl:Class . :City a owl:Class . :locatedIn a owl:ObjectProperty ; rdfs:domain :Restaurant ; rdfs:range :City .`,
    ],
    [
      "with a noun for a label",
      `:Venue a owl:Class ; rdfs:label "venue" . :Restaurant a owl:Class ; rdfs:subClassOf :Venue ; rdfs:label "restaurant" .
      :location a owl:ObjectProperty ; rdfs:label "location" ; rdfs:domain :Venue .`,
    ],
  ]
  for (const [what, turtle] of ontologies) {
    for (const name of ["Sabor", "Casa Lima", "The Copper Pot"]) {
      it.effect(`${what} reads "${name} is a restaurant located in Lisbon"`, () =>
        Effect.gen(function* () {
          const facts = yield* factsOf(`${name} is a restaurant located in Lisbon.`, prefixes + turtle)
          assert.deepStrictEqual(
            facts.map((fact) => fact.replace(/^The /, "")),
            [`${name.replace(/^The /, "")} | ${what === "with a noun for a label" ? "location" : "located in"} | Lisbon`],
          )
        }),
      )
    }
  }
})
