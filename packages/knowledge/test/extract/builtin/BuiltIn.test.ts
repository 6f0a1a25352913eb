import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Chunk } from "../../../src/document/Chunk.ts"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { BuiltInModel } from "../../../src/extract/builtin/BuiltInModel.ts"
import { objectText } from "../../../src/extract/builtin/FoundFact.ts"
import { trainBuiltIn } from "../../../src/extract/builtin/Training.ts"
import type { ExtractorService } from "../../../src/extract/Extractor.ts"
import type { Fact } from "../../../src/fact/Fact.ts"
import type { OntologyIndex } from "../../../src/ontology/OntologyIndex.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"
import { examples, ontology, sky } from "./observatory.ts"

const chunkOf = (text: string, offset = 0): Chunk => ({ index: 0, text, offset })

const factsOf = (extractor: ExtractorService, index: OntologyIndex, text: string, offset = 0) =>
  Effect.gen(function* () {
    const chunk = chunkOf(text, offset)
    const { mentions } = yield* extractor.entities(chunk, index)
    return (yield* extractor.facts(chunk, mentions, index)).facts
  })

const written = (index: OntologyIndex) => (fact: Fact) =>
  `${fact.subject.text} | ${index.label(fact.property)} | ${fact.object._tag === "Value" ? fact.object.lexical : fact.object.mention.text}`

/** What a trained extractor finds in a text, as words. */
const found = (text: string, options: BuiltIn.BuiltInOptions = {}) =>
  Effect.gen(function* () {
    const index = yield* ontology
    const facts = yield* factsOf(BuiltIn.make({ examples, ...options }), index, text)
    return facts.map(written(index)).sort()
  })

describe("the built-in extractor", () => {
  const cases: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
    [
      "finds several facts in a sentence",
      "Comet Tavi was discovered by Joan Ek on 7 July 1988.",
      ["Comet Tavi | discovered by | Joan Ek", "Comet Tavi | discovery date | 1988-07-07"],
    ],
    ["finds a fact in other words than the label's", "Sor Observatory stands in Portugal.", ["Sor Observatory | located in | Portugal"]],
    ["reads numbers as values", "The Owl Telescope has a mirror diameter of 1.75 metres.", ["Owl Telescope | mirror diameter | 1.75"]],
    [
      "finds every member of a list",
      "Comet Rho was discovered by Joan Ek, Tomas Lind and Vera Moor.",
      ["Comet Rho | discovered by | Joan Ek", "Comet Rho | discovered by | Tomas Lind", "Comet Rho | discovered by | Vera Moor"],
    ],
    [
      "goes back to what an earlier sentence was about",
      "Sor Observatory is an old house. It is located in Lisbon.",
      ["Sor Observatory | located in | Lisbon"],
    ],
    [
      "gives a relative clause to the name before it",
      "Sor Observatory is directed by Joan Ek, who was born in Lisbon.",
      ["Joan Ek | born in | Lisbon", "Sor Observatory | director | Joan Ek"],
    ],
    [
      "gives what joined verbs lead up to to each of them",
      "Comet Tavi was discovered, measured and named by Joan Ek.",
      ["Comet Tavi | discovered by | Joan Ek"],
    ],
    ["understands the active voice", "In those days Joan Ek discovered Comet Tavi.", ["Comet Tavi | discovered by | Joan Ek"]],
    ["does not take what is denied", "Comet Tavi was never discovered by Joan Ek.", []],
    ["does not take what is denied in the active voice", "Joan Ek never discovered Comet Tavi.", []],
    ["finds nothing where nothing is stated", "It was late. Everybody went home.", []],
    [
      "reads lines of keys and values under a heading",
      "# Sor Observatory\n\nLocated in: Lisbon\nDirector: Joan Ek; Vera Moor\nFounded in: 1901\nPhone: 555\n",
      [
        "Sor Observatory | director | Joan Ek",
        "Sor Observatory | director | Vera Moor",
        "Sor Observatory | founding year | 1901",
        "Sor Observatory | located in | Lisbon",
      ],
    ],
    [
      "reads records that begin with their kind",
      "telescope: Owl\nmirror diameter: 1.75\nbuilt by: Holm Works\n\ntelescope: Wren\nmirror diameter: 0.9\n",
      ["Owl | built by | Holm Works", "Owl | mirror diameter | 1.75", "Wren | mirror diameter | 0.9"],
    ],
    [
      "reads tables",
      "| Telescope | Built by | Mirror diameter |\n|---|---|---|\n| Owl | Holm Works | 1.75 |\n| Wren | - | 0.9 |\n",
      ["Owl | built by | Holm Works", "Owl | mirror diameter | 1.75", "Wren | mirror diameter | 0.9"],
    ],
    [
      "reads lists with commas",
      "comet,discovered by,discovery date\nTavi,Joan Ek,1988-07-07\n",
      ["Tavi | discovered by | Joan Ek", "Tavi | discovery date | 1988-07-07"],
    ],
    ["does not take a comet for a person or a house", "Comet Tavi was born in Lisbon and is located in Portugal.", []],
    ["reads names in other scripts", "Comet Tavi was discovered by 山口遥 in Lisbon.", ["Comet Tavi | discovered by | 山口遥"]],
  ]
  for (const [what, text, expected] of cases) {
    it.effect(what, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* found(text), expected)
      }),
    )
  }

  it.effect("works with labels alone, without examples", () =>
    Effect.gen(function* () {
      const facts = yield* found("Comet Tavi was discovered by Joan Ek.", { examples: [] })
      assert.include(facts, "Comet Tavi | discovered by | Joan Ek")
    }),
  )

  it.effect("gives exact places, counted from the beginning of the document", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const text = "Nothing here. Sor Observatory is located in Lisbon."
      const [fact] = yield* factsOf(BuiltIn.make({ examples }), index, text, 1000)
      assert.deepStrictEqual(fact?.subject.span, { start: 1014, end: 1029 })
      assert.strictEqual(fact?.quote, "Sor Observatory is located in Lisbon")
      assert.deepStrictEqual(fact?.span, { start: 1014, end: 1050 })
    }),
  )

  it.effect("gives entities the classes that the text names", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const { mentions } = yield* BuiltIn.make({ examples }).entities(
        chunkOf("Comet Tavi was discovered by the astronomer Joan Ek in the city Lisbon."),
        index,
      )
      const type = (text: string) => mentions.find((mention) => mention.text === text)?.type
      assert.strictEqual(type("Joan Ek"), sky("Astronomer"))
      assert.strictEqual(type("Lisbon"), sky("City"))
    }),
  )

  it.effect("finds names it has been given, in any case, and knows their classes", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const names = [{ name: "the blue house", types: [sky("Observatory")] }]
      const { mentions } = yield* BuiltIn.make({ names }).entities(chunkOf("We met at The Blue House."), index)
      assert.deepStrictEqual(
        mentions.map(({ text, type }) => [text, type]),
        [["The Blue House", sky("Observatory")]],
      )
    }),
  )

  it.effect("finds facts about names that it is given", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const names = [{ name: "the Blue House", types: [sky("Observatory")] }]
      const facts = yield* factsOf(BuiltIn.make({ examples, names }), index, "The Blue House is located in Lisbon.")
      assert.deepStrictEqual(
        facts.map(({ subject, property }) => [subject.text, subject.type, property]),
        [["The Blue House", sky("Observatory"), sky("locatedIn")]],
      )
    }),
  )

  it.effect("finds facts between mentions that another extractor found", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const extractor = BuiltIn.make({ examples })
      const text = "Comet Tavi was discovered by Joan Ek on 7 July 1988."
      const mention = (words: string, type: string) => ({
        type: sky(type),
        text: words,
        span: { start: text.indexOf(words), end: text.indexOf(words) + words.length },
        confidence: 1,
      })
      const both = yield* extractor.facts(chunkOf(text), [mention("Comet Tavi", "Comet"), mention("Joan Ek", "Astronomer")], index)
      assert.deepStrictEqual(both.facts.map(written(index)).sort(), [
        "Comet Tavi | discovered by | Joan Ek",
        "Comet Tavi | discovery date | 1988-07-07",
      ])
      assert.strictEqual(both.facts.find(({ object }) => object._tag === "Entity")?.subject.type, sky("Comet"))
      const wrong = yield* extractor.facts(chunkOf(text), [mention("Comet Tavi", "City"), mention("Joan Ek", "Astronomer")], index)
      assert.deepStrictEqual(wrong.facts, [], "a city is not discovered by anyone, says the ontology")
    }),
  )

  it.effect("keeps one value of a property that has one", () =>
    Effect.gen(function* () {
      const facts = yield* found("Comet Tavi was discovered on 7 July 1988. Comet Tavi was discovered on 8 July 1988.")
      assert.strictEqual(facts.filter((fact) => fact.includes("discovery date")).length, 1)
    }),
  )
})

/** Words and marks that sentences about the sky, and accidents, are made of. */
const pieces = [
  ...[
    "Comet Tavi",
    "Joan Ek",
    "Sor Observatory",
    "Lisbon",
    "7 July 1988",
    "1988",
    "2.5 metres",
    '"Owl"',
    "The",
    "It",
    "山口遥",
    "é".normalize("NFD"),
    "👩‍👩‍👧",
  ],
  ...[
    "was discovered by",
    "is located in",
    "discovered",
    "director",
    "built by",
    "born in",
    "who",
    "and",
    "never",
    "in",
    "is",
    "a comet",
    "of",
  ],
  ...[",", ".", ". ", "\n", "\n\n", ":", "|", "(", ")", "# ", "- ", "Director: ", "|---|---|", "\t", ";", "'s", "\ud83d"],
]
const anything = Arbitrary.map(Arbitrary.array(Arbitrary.schema(Schema.Literals(pieces)), { maxLength: 24 }), (some) => some.join(" "))

describe("whatever the text, a fact of the built-in extractor", () => {
  it.effect.prop("rests on exact words, has its subject from the text, and keeps to domain and range", { text: anything }, ({ text }) =>
    Effect.gen(function* () {
      const index = yield* ontology
      const offset = 7
      for (const fact of yield* factsOf(BuiltIn.make({ leastConfidence: 0.02 }), index, text, offset)) {
        const slice = ({ start, end }: { start: number; end: number }) => text.slice(start - offset, end - offset)
        assert.strictEqual(slice(fact.subject.span), fact.subject.text)
        assert.strictEqual(slice(fact.span), fact.quote)
        assert.strictEqual(slice(fact.object._tag === "Entity" ? fact.object.mention.span : fact.object.span), objectText(fact.object))
        assert.isTrue(index.acceptsSubject(fact.property, fact.subject.type))
        const { object } = fact
        assert.isTrue(
          object._tag === "Entity"
            ? index.acceptsObject(fact.property, object.mention.type)
            : index.acceptsValue(fact.property, object.datatype),
        )
        assert.isTrue(fact.confidence >= 0.02 && fact.confidence <= 1)
      }
    }),
  )
})

describe("training", () => {
  it.effect("always gives the same model for the same examples, and it survives JSON", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const model = trainBuiltIn(index, examples)
      assert.deepStrictEqual(trainBuiltIn(index, examples), model)
      const back = yield* Schema.decodeUnknownEffect(BuiltInModel)(JSON.parse(JSON.stringify(model)))
      const text = "Comet Tavi was discovered by Joan Ek on 7 July 1988. Sor Observatory stands in Portugal."
      const direct = yield* factsOf(BuiltIn.make({ examples }), index, text)
      assert.deepStrictEqual(yield* factsOf(BuiltIn.make({ model: back }), index, text), direct)
    }),
  )

  it.effect("teaches words that no label has", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const text = "Comet Tavi was first glimpsed through a cellar window by Joan Ek."
      const taught = [
        ["Comet Orm", "Lars Holt"],
        ["Comet Ebb", "Mia Dahl"],
        ["Comet Sjo", "Olaf Rand"],
        ["Comet Fen", "Dora Lysne"],
      ].map(([sub = "", obj = ""]) => ({
        sent: `${sub} was first glimpsed through a roof window by ${obj}.`,
        triples: [{ sub, rel: "discovered by", obj }],
      }))
      const before = yield* factsOf(BuiltIn.make({ examples }), index, text)
      const after = yield* factsOf(BuiltIn.make({ examples: [...examples, ...taught] }), index, text)
      const confidence = (facts: ReadonlyArray<Fact>) => facts.find(({ property }) => property === sky("discoveredBy"))?.confidence ?? 0
      assert.isAbove(confidence(after), confidence(before) + 0.2)
    }),
  )

  it.effect("teaches what the subjects of a property look like", () =>
    Effect.gen(function* () {
      const index = yield* loadOntology({
        name: "open.ttl",
        text: `@prefix : <https://example.org/open#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
          @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
          :homeland a owl:ObjectProperty ; rdfs:label "homeland" . :stage a owl:ObjectProperty ; rdfs:label "stage" .`,
      })
      const taught = ["Norway", "Chile", "Peru", "Kenya"].flatMap((obj, at) =>
        [
          [`${["Ada", "Vera", "Piet", "Joan"][at]} Marsh`, "homeland"],
          [`${1990 + at} Lunda Open`, "stage"],
        ].map(([sub = "", rel = ""]) => ({ sent: `${sub} appeared in ${obj}.`, triples: [{ sub, rel, obj }] })),
      )
      const surest = (text: string) =>
        Effect.map(factsOf(BuiltIn.make({ examples: taught }), index, text), (facts) => facts.map(written(index))[0])
      assert.strictEqual(yield* surest("Lars Holt appeared in Cuba."), "Lars Holt | homeland | Cuba")
      assert.strictEqual(yield* surest("2011 Kell Open appeared in Cuba."), "2011 Kell Open | stage | Cuba")
    }),
  )

  it.effect("passes over relations the ontology does not have", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const model = trainBuiltIn(index, [{ sent: "Joan Ek likes tea.", triples: [{ sub: "Joan Ek", rel: "likes", obj: "tea" }] }])
      assert.strictEqual(
        model.objectEvidence.positives.reduce((sum, one) => sum + one, 0),
        0,
      )
    }),
  )
})
