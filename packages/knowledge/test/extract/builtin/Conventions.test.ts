import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import type { Example } from "../../../src/extract/builtin/Example.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

const ontology = loadOntology({
  name: "records.ttl",
  text: `@prefix : <https://example.org/records#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :Song a owl:Class ; rdfs:label "song" . :Album a owl:Class ; rdfs:label "album" . :Person a owl:Class ; rdfs:label "person" .
    :Trade a owl:Class ; rdfs:label "trade" .
    :singer a owl:ObjectProperty ; rdfs:label "singer" ; rdfs:domain :Song ; rdfs:range :Person .
    :appearsOn a owl:ObjectProperty ; rdfs:label "appears on" ; rdfs:domain :Song ; rdfs:range :Album .
    :trade a owl:ObjectProperty ; rdfs:label "occupation" ; rdfs:domain :Person ; rdfs:range :Trade .`,
})

/** What the extractor finds after examples, the surest first. */
const found = (examples: ReadonlyArray<Example>, text: string) =>
  Effect.gen(function* () {
    const index = yield* ontology
    const extractor = BuiltIn.make({ examples })
    const chunk = { index: 0, text, offset: 0 }
    const { mentions } = yield* extractor.entities(chunk, index)
    const { facts } = yield* extractor.facts(chunk, mentions, index)
    return facts.map(
      ({ subject, property, object }) =>
        `${subject.text} | ${index.label(property)} | ${object._tag === "Entity" ? object.mention.text : object.text}`,
    )
  })

const songs = ["Quiet Harbour", "Silver Lantern", "Broken Compass", "Distant Thunder", "Paper Garden", "Hollow Crown"]
const singers = ["Ada Marsh", "Bruno Stroud", "Carla Vance", "Dario Holt", "Elsa Lind", "Fredo Quist"]

describe("examples show", () => {
  const withArticle = (article: string): ReadonlyArray<Example> =>
    songs.map((song, at) => ({
      sent: `The ${song} is a song by the singer ${singers[at]}.`,
      triples: [{ sub: `${article}${song}`, rel: "singer", obj: singers[at] ?? "" }],
    }))
  const text = "The Golden Ladder is a song by the singer Greta Rand."

  it.effect("that the article belongs to names", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* found(withArticle("The "), text))[0], "The Golden Ladder | singer | Greta Rand")
    }),
  )

  it.effect("that it does not", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* found(withArticle(""), text))[0], "Golden Ladder | singer | Greta Rand")
    }),
  )

  it.effect("that an object is what the subject is said to be", () =>
    Effect.gen(function* () {
      const taught = ["golfer", "swimmer", "ski jumper", "tennis player", "rower"].map((trade, at) => ({
        sent: `${singers[at]} is a Norwegian ${trade} from Varno.`,
        triples: [{ sub: singers[at] ?? "", rel: "occupation", obj: trade }],
      }))
      assert.include(yield* found(taught, "Mina Toll is a Danish fencer from Kell."), "Mina Toll | occupation | fencer")
    }),
  )
})

describe("the noun before a name", () => {
  it.effect("says which property the name can be the object of", () =>
    Effect.gen(function* () {
      const facts = yield* found([], '"Golden Ladder" is a song from the album Winter Roads.')
      assert.include(facts, "Golden Ladder | appears on | Winter Roads")
      assert.notInclude(facts, "Golden Ladder | singer | Winter Roads")
    }),
  )
})
