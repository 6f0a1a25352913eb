import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import type { Example } from "../../../src/extract/builtin/Example.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

/** Relations whose labels say nothing about the words that texts use for them: only examples can tell. */
const ontology = loadOntology({
  name: "guild.ttl",
  text: `@prefix : <https://example.org/guild#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :first a owl:ObjectProperty ; rdfs:label "R1" . :second a owl:ObjectProperty ; rdfs:label "R2" .
    :third a owl:ObjectProperty ; rdfs:label "R3" .`,
})

const given = [
  "Ada",
  "Bruno",
  "Carla",
  "Dario",
  "Elsa",
  "Fredo",
  "Greta",
  "Hugo",
  "Ines",
  "Jarl",
  "Klara",
  "Leo",
  "Mina",
  "Nilo",
  "Oda",
  "Piero",
]
const family = [
  "Marsh",
  "Stroud",
  "Vance",
  "Holt",
  "Lind",
  "Quist",
  "Rand",
  "Toll",
  "Ude",
  "Weiss",
  "Yorke",
  "Zell",
  "Abel",
  "Bask",
  "Crane",
  "Dell",
]
const cities = [
  "Varno",
  "Kell",
  "Elsing",
  "Mirova",
  "Lumholm",
  "Tarsk",
  "Osby",
  "Pirna",
  "Quern",
  "Rostal",
  "Skarn",
  "Tolve",
  "Ulm",
  "Vesk",
  "Wend",
  "Zarn",
]
const guilds = [
  "Weavers Guild",
  "Masons Guild",
  "Bakers Guild",
  "Dyers Guild",
  "Coopers Guild",
  "Tanners Guild",
  "Smiths Guild",
  "Glaziers Guild",
]

const person = (at: number) => `${given[at % 16]} ${family[(at * 7 + Math.floor(at / 16)) % 16]}`

/** Sentences of three relations in turn, none twice. */
const sentence = (at: number): Example => {
  const sub = person(at)
  const turn = Math.floor(at / 3)
  const relation = at % 3
  if (relation === 0) {
    const obj = person(at + 101)
    const sent = [`${sub} learnt the craft under ${obj}.`, `For years ${sub} learnt the craft under ${obj}.`][turn % 2] ?? ""
    return { sent, triples: [{ sub, rel: "R1", obj }] }
  }
  if (relation === 1) {
    const obj = guilds[turn % 8] ?? ""
    const sent = [`${sub} took the oath of the ${obj}.`, `At last ${sub} took the oath of the ${obj}.`][turn % 2] ?? ""
    return { sent, triples: [{ sub, rel: "R2", obj }] }
  }
  const obj = cities[turn % 16] ?? ""
  const sent = [`${sub} was driven out of ${obj}.`, `One winter ${sub} was driven out of ${obj}.`][turn % 2] ?? ""
  return { sent, triples: [{ sub, rel: "R3", obj }] }
}

const sentences = (from: number, count: number) => Array.from({ length: count }, (_, at) => sentence(from + at))

/** F1 on sixty sentences after examples. */
const learnt = Effect.fnUntraced(function* (examples: ReadonlyArray<Example>) {
  const index = yield* ontology
  const extractor = BuiltIn.make({ examples })
  let [right, found, expected] = [0, 0, 0]
  for (const { sent, triples } of sentences(300, 60)) {
    const chunk = { index: 0, text: sent, offset: 0 }
    const { mentions } = yield* extractor.entities(chunk, index)
    const { facts } = yield* extractor.facts(chunk, mentions, index)
    const keys = facts.map(
      ({ subject, property, object }) => `${subject.text} ${index.label(property)} ${object._tag === "Entity" ? object.mention.text : ""}`,
    )
    right += triples.filter(({ sub, rel, obj }) => keys.includes(`${sub} ${rel} ${obj}`)).length
    found += keys.length
    expected += triples.length
  }
  return found === 0 ? 0 : (2 * right) / (found + expected)
})

describe("examples of a new relation", () => {
  it.effect("are enough when there are five of each", () =>
    Effect.gen(function* () {
      const [none = 1, five = 0, twenty = 0, forty = 0] = yield* Effect.forEach([0, 5, 20, 40], (each) => learnt(sentences(0, 3 * each)))
      assert.isAtMost(none, 0.4, "labels that say nothing lead nowhere")
      assert.isAtLeast(five, 0.9)
      assert.isAtLeast(twenty, five)
      assert.isAtLeast(forty, five)
    }),
  )

  it.effect("are enough when there are five of it beside forty of the others", () =>
    Effect.gen(function* () {
      const all = sentences(0, 120)
      const isNew = ({ triples }: Example) => triples.some(({ rel }) => rel === "R2")
      const before = yield* learnt(all.filter((one) => !isNew(one)))
      const after = yield* learnt([...all.filter((one) => !isNew(one)), ...all.filter(isNew).slice(0, 5)])
      assert.isAtMost(before, 0.85)
      assert.isAtLeast(after, 0.9)
    }),
  )
})
