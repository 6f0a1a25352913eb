import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

const turtle = `@prefix : <https://example.org/wind#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
  @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
  @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
  :WindFarm a owl:Class ; rdfs:label "wind farm" .
  :capacity a owl:DatatypeProperty ; rdfs:label "capacity" ; skos:altLabel "capacity (MW)", "capacity_mw" ;
    rdfs:domain :WindFarm ; rdfs:range xsd:decimal .`

/** The facts that go into the graph without a review. */
const read = Effect.fnUntraced(function* (text: string) {
  const index = yield* loadOntology({ name: "wind.ttl", text: turtle })
  const chunk = { index: 0, text, offset: 0 }
  const extractor = BuiltIn.make({ leastConfidence: 0.5 })
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return facts.map(({ subject, object }) => `${subject.text} ${object._tag === "Value" ? object.lexical : ""}`)
})

describe("the number of a sentence has a unit or none", () => {
  const cases: ReadonlyArray<readonly [text: string, fact: string]> = [
    ["Alder Hill has a capacity of 407.5.", "Alder Hill 407.5"],
    ["Alder Hill has a capacity of 407.5 MW.", "Alder Hill 407.5"],
    ["Alder Hill has a capacity of 407 MW and was built in 2001.", "Alder Hill 407"],
    ["Alder Hill has a capacity of 407.5 kW.", "Alder Hill 407.5"],
    ["Alder Hill has a capacity of 30 megawatts.", "Alder Hill 30"],
    ["Alder Hill is a wind farm with a capacity of 55 MW.", "Alder Hill 55"],
    ["The capacity of Alder Hill is 36.", "Alder Hill 36"],
    ["The capacity of Alder Hill is 36 MW.", "Alder Hill 36"],
    ["Alder Hill's capacity is 44 MW.", "Alder Hill 44"],
  ]
  for (const [text, fact] of cases) {
    it.effect(text, () => Effect.map(read(text), (facts) => assert.deepStrictEqual(facts, [fact])))
  }
})
