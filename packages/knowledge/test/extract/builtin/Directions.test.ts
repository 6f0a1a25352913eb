import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

/** The facts of a sentence for one property with these labels, from a person to a company. */
const factsOf = Effect.fnUntraced(function* (labels: string, text: string, language = "en") {
  const index = yield* loadOntology({
    name: "work.ttl",
    text: `@prefix : <https://example.org/work#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
      @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
      :Person a owl:Class ; rdfs:label "person" . :Company a owl:Class ; rdfs:label "company" .
      :worksFor a owl:ObjectProperty ; ${labels} ; rdfs:domain :Person ; rdfs:range :Company .`,
  })
  const chunk = { index: 0, text, offset: 0, language }
  const extractor = BuiltIn.make()
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return facts
    .filter(({ confidence }) => confidence >= 0.5)
    .map(({ subject, object }) => [subject.text, object._tag === "Entity" ? object.mention.text : object.lexical])
})

const right = [["Holly Allen", "Dreamworks Animation"]]

describe("the direction of a fact follows the label whose word the sentence uses", () => {
  const labels = [
    'rdfs:label "works for" ; skos:altLabel "joined"',
    'rdfs:label "employer" ; skos:altLabel "joined"',
    'rdfs:label "employed by" ; skos:altLabel "joined"',
    'rdfs:label "member of" ; skos:altLabel "joined"',
    'rdfs:label "joined"',
  ]
  const sentences = [
    "Holly Allen joined Dreamworks Animation.",
    "Holly Allen joined Dreamworks Animation in 1999.",
    "Holly Allen has joined Dreamworks Animation.",
    "Dreamworks Animation was joined by Holly Allen.",
  ]
  for (const label of labels)
    for (const sentence of sentences)
      it.effect(`${label}: ${sentence}`, () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* factsOf(label, sentence), right)
        }),
      )

  it.effect("which may also name the agent", () =>
    Effect.gen(function* () {
      for (const label of labels.slice(1, 3))
        assert.deepStrictEqual(yield* factsOf(label, "Dreamworks Animation employed Holly Allen."), right)
    }),
  )

  it.effect("in German, too", () =>
    Effect.gen(function* () {
      const label = 'rdfs:label "Arbeitgeber"@de, "angestellt von"@de, "verstärkte"@de'
      assert.deepStrictEqual(yield* factsOf(label, "Holly Allen verstärkte Dreamworks Animation.", "de"), right)
    }),
  )
})
