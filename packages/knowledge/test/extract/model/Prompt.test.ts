import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { classesFor, entityQuestion, factQuestion, propertiesFor } from "../../../src/extract/model/Prompt.ts"
import type { Mention } from "../../../src/fact/Fact.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"
import * as Harbour from "./harbour.ts"

const large = loadOntology({
  name: "large.ttl",
  text: `@prefix : <urn:l:> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
${Array.from({ length: 300 }, (_, number) => `:C${number} a owl:Class ; rdfs:label "kind ${number} thing" .`).join("\n")}
:Lighthouse a owl:Class ; rdfs:label "lighthouse"@en, "Leuchtturm"@de .`,
})

const mention = (type: string): Mention => ({ type: Harbour.namespace + type, text: type, span: { start: 0, end: 1 }, confidence: 1 })

describe("a prompt", () => {
  it.effect("has what the user says, the nearest examples, and where the text stands", () =>
    Effect.gen(function* () {
      const ontology = yield* Harbour.ontology
      const context = { headings: ["Ships", "The Halcyon"], before: "She was built in Verran." }
      const chunk = { ...Harbour.chunk, text: "Ada Sol sailed the Halcyon.", context }
      const others = ["One", "Two", "Three", "Four"].map((name) => ({ sent: `${name} is something else.`, triples: [] }))
      const near = { sent: "Bo Lind sailed the Alba.", triples: [{ sub: "Bo Lind", rel: "captain of", obj: "Alba" }] }
      const guidance = { instructions: "Leave out tugs.", glossary: { TEU: "twenty-foot equivalent unit" }, examples: [...others, near] }
      const classes = classesFor(chunk, ontology)
      const first = entityQuestion(chunk, classes, ontology, [], guidance)
      const second = factQuestion(chunk, [mention("Person")], propertiesFor(chunk, [mention("Person")], ontology), ontology, guidance)
      for (const { system } of [first, second]) {
        assert.include(system, "Leave out tugs.")
        assert.include(system, "- TEU: twenty-foot equivalent unit")
      }
      for (const { prompt } of [first, second]) {
        assert.include(prompt, 'The text stands under: "Ships" > "The Halcyon"')
        assert.include(prompt, "She was built in Verran.")
        assert.include(prompt, "Bo Lind sailed the Alba.")
        assert.notInclude(prompt, "Four is something else.")
      }
      assert.include(first.prompt, 'names: "Bo Lind", "Alba"')
      assert.include(second.prompt, '"Bo Lind" captain of "Alba"')
      // The instructions are the same for every text: providers read them from their cache.
      assert.strictEqual(entityQuestion({ ...chunk, text: "Another text." }, classes, ontology, [], guidance).system, first.system)
    }),
  )
})

describe("the vocabulary of a chunk", () => {
  it.effect("is all of a small ontology", () =>
    Effect.gen(function* () {
      const classes = classesFor(Harbour.chunk, yield* Harbour.ontology)
      assert.deepStrictEqual(
        classes.map(({ key }) => key),
        ["City", "Person", "Place", "Ship"],
      )
      assert.deepStrictEqual(classes[3]?.names, ["ship", "vessel"])
    }),
  )

  it.effect("is, of a large one, what the words of the chunk speak of", () =>
    Effect.gen(function* () {
      const ontology = yield* large
      const of = (text: string) => classesFor({ index: 0, text, offset: 0 }, ontology).map(({ key }) => key)
      assert.strictEqual(of("Der Leuchtturm steht.").length, 80)
      assert.include(of("Der Leuchtturm steht."), "Lighthouse")
      assert.include(of("A kind 217 thing."), "C217")
      assert.deepStrictEqual(of("A kind 217 thing."), of("A kind 217 thing."))
      const schema = JSON.stringify(
        entityQuestion({ index: 0, text: "x", offset: 0 }, classesFor(Harbour.chunk, ontology), ontology).schema,
      )
      assert.isBelow(schema.length, 3000)
    }),
  )

  it.effect("is, of a chain of 10,000 classes, the most general ones", () =>
    Effect.gen(function* () {
      const ontology = yield* loadOntology({
        name: "chain.ttl",
        text: `@prefix : <urn:l:> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
${Array.from({ length: 10_000 }, (_, number) => `:C${number} a owl:Class ; rdfs:subClassOf :C${number + 1} .`).join("\n")}`,
      })
      const keys = classesFor({ index: 0, text: "Nothing of it.", offset: 0 }, ontology).map(({ key }) => key)
      assert.strictEqual(keys.length, 80)
      for (const number of [9999, 9960, 9920]) assert.include(keys, `C${number}`)
    }),
  )

  it.effect("is, of a chain of 10,000 properties, the most general ones that can hold", () =>
    Effect.gen(function* () {
      const length = 10_000
      const ontology = yield* loadOntology({
        name: "chain.ttl",
        // Each demands something of its own, so that all together demand the square of it.
        text: `@prefix : <urn:l:> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Ship a owl:Class . :Port a owl:Class .
${Array.from({ length }, (_, number) => `:p${number} a owl:ObjectProperty ; rdfs:subPropertyOf :p${number + 1} .`).join("\n")}
${Array.from({ length }, (_, number) => `:D${number} a owl:Class . :Ship rdfs:subClassOf :D${number} . :p${number} rdfs:domain :D${number} .`).join("\n")}
:p5000 rdfs:domain :Port .`,
      })
      let asked = 0
      const ancestors = ontology.propertyAncestors.bind(ontology)
      ontology.propertyAncestors = (iri) => {
        asked++
        return ancestors(iri)
      }
      const chunk = { index: 0, text: "Nothing of it.", offset: 0 }
      const mention = { type: "urn:l:Ship", text: "", span: { start: 0, end: 0 }, confidence: 1 }
      const keys = propertiesFor(chunk, [mention], ontology).map(({ key }) => key)
      assert.strictEqual(keys.length, 80)
      for (const number of [9999, 9960, 9920]) assert.include(keys, `p${number}`)
      // Worked out without what lies above each single property.
      assert.strictEqual(asked, 0)
    }),
  )

  it.effect("of properties is what can hold between what was found", () =>
    Effect.gen(function* () {
      const ontology = yield* Harbour.ontology
      const of = (...types: ReadonlyArray<string>) => propertiesFor(Harbour.chunk, types.map(mention), ontology).map(({ key }) => key)
      assert.deepStrictEqual(of("Person"), ["birthDate", "nickname"])
      assert.deepStrictEqual(of("Person", "City"), ["birthDate", "bornIn", "nickname"])
      assert.deepStrictEqual(of("Ship", "City"), ["homePort", "tonnage"])
      assert.deepStrictEqual(of("City"), [])
    }),
  )

  it.effect("keeps names apart that end alike", () =>
    Effect.gen(function* () {
      const ontology = yield* loadOntology({
        name: "alike.ttl",
        text: `@prefix owl: <http://www.w3.org/2002/07/owl#> . <urn:a#Name> a owl:Class . <urn:b#Name> a owl:Class .`,
      })
      assert.deepStrictEqual(
        classesFor(Harbour.chunk, ontology).map(({ key, iri }) => [key, iri]),
        [
          ["Name", "urn:a#Name"],
          ["Name_2", "urn:b#Name"],
        ],
      )
    }),
  )
})
