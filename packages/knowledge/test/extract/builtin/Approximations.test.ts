import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

const ontology = loadOntology({
  name: "towns.ttl",
  text: `@prefix : <https://example.org/towns#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Town a owl:Class ; rdfs:label "town" .
    :population a owl:DatatypeProperty ; rdfs:label "population" ; rdfs:domain :Town ; rdfs:range xsd:integer .
    :founded a owl:DatatypeProperty ; rdfs:label "founded", "founding year" ; rdfs:domain :Town ; rdfs:range xsd:gYear .`,
})

/** The least confidence of a fact that needs no review. */
const sure = 0.5

const values = Effect.fnUntraced(function* (text: string) {
  const index = yield* ontology
  const chunk = { index: 0, text, offset: 0 }
  const extractor = BuiltIn.make()
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return facts.map(({ object, confidence }) => [object._tag === "Value" ? object.lexical : "", confidence >= sure])
})

describe("a value that a sentence gives only roughly", () => {
  for (const said of [
    "Kaldby is a town. Kaldby has a population of about 7,900.",
    "Kaldby is a town. Kaldby has a population of roughly 7,900.",
    "Kaldby is a town. Kaldby has an estimated population of 7,900.",
    "Kaldby is a town. Kaldby has a population of more than 7,900.",
    "Kaldby is a town. Kaldby has a population of at least 7,900.",
    "Kaldby is a town. Kaldby has a population of up to 7,900.",
    "Kaldby is a town. Kaldby has a population of 7,900 or so.",
    "Kaldby is a town. Kaldby was founded circa 1921.",
    "Kaldby is a town. Kaldby was founded in or around 1921.",
    "Kaldby is a town. Kaldby was founded c. 1921.",
  ])
    it.effect(`needs a review: ${said}`, () =>
      Effect.gen(function* () {
        for (const [, isSure] of yield* values(said)) assert.isFalse(isSure)
      }),
    )

  for (const [said, value] of [
    ["Kaldby is a town. Kaldby has a population of 7,900.", "7900"],
    ["Kaldby is a town. Kaldby was founded in 1921.", "1921"],
  ] as const)
    it.effect(`needs none where it is exact: ${said}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* values(said), [[value, true]])
      }),
    )
})
