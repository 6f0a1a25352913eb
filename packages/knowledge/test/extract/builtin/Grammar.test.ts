import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { viewSentence } from "../../../src/extract/builtin/SentenceView.ts"
import { subjectTraits } from "../../../src/extract/builtin/SubjectFeatures.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

const library = `@prefix : <https://example.org/library#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
  @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
  :Person a owl:Class ; rdfs:label "person" . :Work a owl:Class ; rdfs:label "almanac" . :House a owl:Class ; rdfs:label "company" .
  :City a owl:Class ; rdfs:label "city" . :Ship a owl:Class ; rdfs:label "ship" .
  :editor a owl:ObjectProperty ; rdfs:label "editor" ; rdfs:domain :Work ; rdfs:range :Person .
  :illustrator a owl:ObjectProperty ; rdfs:label "illustrator" ; rdfs:domain :Work ; rdfs:range :Person .
  :publisher a owl:ObjectProperty ; rdfs:label "publisher" ; rdfs:domain :Work ; rdfs:range :House .
  :published a owl:DatatypeProperty ; rdfs:label "publication date" ; rdfs:domain :Work ; rdfs:range xsd:date .
  :born a owl:ObjectProperty ; rdfs:label "birthplace" ; rdfs:domain :Person ; rdfs:range :City .
  :captain a owl:ObjectProperty ; rdfs:label "captain" ; rdfs:domain :Ship ; rdfs:range :Person .`

/** The facts that the labels of an ontology alone lead to, surest first, each with its confidence. */
const judged = Effect.fnUntraced(function* (text: string) {
  const index = yield* loadOntology({ name: "library.ttl", text: library })
  const chunk = { index: 0, text, offset: 0 }
  const extractor = BuiltIn.make({ leastConfidence: 0.01 })
  const { mentions } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  return facts.map(({ subject, property, object, confidence }) => ({
    fact: `${subject.text} | ${index.label(property)} | ${object._tag === "Entity" ? object.mention.text : object.lexical}`,
    confidence,
  }))
})

describe("without examples", () => {
  const surest: ReadonlyArray<readonly [string, string, string]> = [
    [
      "finds a name behind its description",
      "Harrow Almanac was edited by the retired schoolteacher and historian Tora Vik.",
      "Harrow Almanac | editor | Tora Vik",
    ],
    [
      "takes the name that is described, not the one that describes it",
      "Harrow Almanac was edited by Quayside Rowers coach Tora Vik.",
      "Harrow Almanac | editor | Tora Vik",
    ],
    [
      "goes by the verb, not by the noun before it",
      "Harrow Almanac is a yearly publication edited by Tora Vik.",
      "Harrow Almanac | editor | Tora Vik",
    ],
    ["leaves a title out of the name of a person", "Captain Tora Vik was born in Elsing.", "Tora Vik | birthplace | Elsing"],
    [
      "gives what is said of a part to its owner",
      "Harrow Almanac's first volumes were edited by Tora Vik.",
      "Harrow Almanac | editor | Tora Vik",
    ],
    [
      "finds the subject after a participle with a place",
      "Printed in Elsing, Norway, Harrow Almanac was edited by Tora Vik.",
      "Harrow Almanac | editor | Tora Vik",
    ],
  ]
  for (const [title, text, expected] of surest) {
    it.effect(title, () =>
      Effect.gen(function* () {
        const [best] = yield* judged(text)
        assert.strictEqual(best?.fact, expected)
        assert.isAbove(best?.confidence ?? 0, 0.5)
      }),
    )
  }

  const unsure: ReadonlyArray<readonly [string, string, string]> = [
    [
      "does not give what one verb says to the property of another",
      "Harrow Almanac was edited by Tora Vik and illustrated by Jon Bray.",
      "Harrow Almanac | illustrator | Tora Vik",
    ],
    ["does not take a verb for any other", "Harrow Almanac was printed by Tora Vik.", "Harrow Almanac | illustrator | Tora Vik"],
    [
      "does not take the dates of a life for a publication",
      "Tora Vik (3 May 1901 - 9 June 1977) was a painter.",
      "Tora Vik | publication date | 1977-06-09",
    ],
    [
      "does not take a date of birth for a publication",
      "Tora Vik (born 3 May 1901) is a painter.",
      "Tora Vik | publication date | 1901-05-03",
    ],
  ]
  for (const [title, text, fact] of unsure) {
    it.effect(title, () =>
      Effect.gen(function* () {
        const found = yield* judged(text)
        assert.isBelow(found.find((one) => one.fact === fact)?.confidence ?? 0, BuiltIn.defaultLeastConfidence)
      }),
    )
  }
})

describe("what a sentence says of its subject", () => {
  const cases: ReadonlyArray<readonly [string, boolean, ReadonlyArray<string>]> = [
    ["Dawn is a 1950 Norwegian film directed by Tora Vik.", false, ["film"]],
    ["Dawn (3 May 1901 – 9 June 1977) was the lighthouse keeper of Elsing.", true, ["lighthous", "keep"]],
    ["Dawn (1901 – 1977) was closed.", false, []],
    ["Dawn was born in Elsing.", true, []],
    ["Dawn, an almanac of tides, sells well.", false, ["almanac"]],
    ["Dawn (a port", false, []],
  ]
  for (const [text, person, kinds] of cases) {
    it(text, () => {
      const view = viewSentence(text)
      assert.deepStrictEqual(subjectTraits(view, { kind: "name", first: 0, last: 0, text: "Dawn" }), { person, kinds })
    })
  }
})
