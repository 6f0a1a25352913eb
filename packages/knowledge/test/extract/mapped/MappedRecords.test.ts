import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workbook } from "../../../../tables/test/support/workbook.ts"
import { readDocument } from "../../../src/document/DocumentReader.ts"
import { readMapped } from "../../../src/extract/mapped/MappedRecords.ts"
import { compileMapping, ruleOf } from "../../../src/mapping/CompiledMapping.ts"
import { readFactMapping } from "../../../src/mapping/FactMapping.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

const ontology = loadOntology({
  name: "art.ttl",
  text: `@prefix : <https://example.org/art#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Artist a owl:Class . :Work a owl:Class . :Place a owl:Class . :Movement a owl:Class .
    :bornIn a owl:ObjectProperty ; rdfs:label "born in" ; rdfs:domain :Artist ; rdfs:range :Place .
    :memberOf a owl:ObjectProperty ; rdfs:label "member of" ; rdfs:domain :Artist ; rdfs:range :Movement .
    :created a owl:ObjectProperty ; rdfs:domain :Artist ; rdfs:range :Work .
    :knows a owl:ObjectProperty .
    :birthYear a owl:DatatypeProperty ; rdfs:label "birth year" ; rdfs:domain :Artist ; rdfs:range xsd:gYear .
    :price a owl:DatatypeProperty ; rdfs:domain :Work ; rdfs:range xsd:decimal .
    :sold a owl:DatatypeProperty ; rdfs:domain :Work ; rdfs:range xsd:date .
    :note a owl:DatatypeProperty ; rdfs:range rdf:langString .`,
})

/** Reads a document by a mapping. Checks that each quote, and each text that is no looked up name, stands in the document. */
const read = Effect.fnUntraced(function* (name: string, content: string | Uint8Array, mapping: string) {
  const index = yield* ontology
  const compiled = yield* Effect.fromResult(compileMapping("mapping.yaml", yield* readFactMapping("mapping.yaml", mapping), index))
  const rules = compiled.rulesFor(`file:///data/${name}`)
  const { text, records } = yield* readDocument({ name }, typeof content === "string" ? Buffer.from(content) : content)
  const found = records.flatMap((record) => {
    const rule = ruleOf(rules, record)
    return rule === undefined ? [] : [readMapped(record, rule, index, { text, offset: 0 })]
  })
  const facts = found.flatMap((one) => one.facts)
  for (const { quote, span } of facts) assert.strictEqual(quote, text.slice(span.start, span.end))
  return {
    facts: facts.map(({ subject, property, object, quote }) => {
      const value = object._tag === "Entity" ? object.mention.text : object.lexical
      return `${subject.text} | ${property.split("#")[1]} | ${value} [${quote}]`
    }),
    names: found.flatMap((one) =>
      one.mentions.map((mention) => [mention.text, mention.identifier].filter((part) => part !== undefined).join(" #")),
    ),
    misfits: found.flatMap((one) => one.misfits.map((misfit) => misfit.text)),
    notRead: found.flatMap((one) => one.notRead.map(({ column, text: cell }) => `${column}: ${cell}`)),
  }
})

const refused = (mapping: string) =>
  Effect.gen(function* () {
    const index = yield* ontology
    const given = yield* readFactMapping("mapping.yaml", mapping)
    return yield* Effect.flip(Effect.fromResult(compileMapping("mapping.yaml", given, index)))
  })

const artists = `files:
  - file: artists.csv
    class: Artist
    name: Artist
    identifier: Ref
    facts:
      - { column: Where, property: born in }
      - { column: Born, property: birthYear }
      - { column: Groups, property: memberOf, separator: "/" }
    leaveOut: [Wall]
`

describe("a table with a mapping", () => {
  it.effect("gives a fact for each mapped cell, with the words of the cell, and names what is not read", () =>
    Effect.gen(function* () {
      const csv =
        'Ref,Artist,Where,Born,Groups,Wall,Hands\n7,Ada Sol,"Paris, France",1815,Dada / Fluxus,3,left\n8,Jon Bray,N/A,about 1900,,4,\n9,,Kell,1900,Dada,5,right\n'
      assert.deepStrictEqual(yield* read("artists.csv", csv, artists), {
        facts: [
          "Ada Sol | bornIn | Paris, France [Where: Paris, France]",
          "Ada Sol | birthYear | 1815 [Born: 1815]",
          "Ada Sol | memberOf | Dada [Groups: Dada / Fluxus]",
          "Ada Sol | memberOf | Fluxus [Groups: Dada / Fluxus]",
        ],
        names: ["Ada Sol #7", "Jon Bray #8"],
        misfits: ["about 1900", "Ref: 9; Where: Kell; Born: 1900; Groups: Dada; Wall: 5; Hands: right"],
        notRead: ["Hands: left", "Hands: right"],
      })
    }),
  )

  it.effect("reads numbers and dates of a locale, looked up names and texts of a language", () =>
    Effect.gen(function* () {
      const mapping = `files:
  - file: "*.tsv"
    locale: de-DE
    class: Work
    name: Werk
    facts:
      - { column: Preis, property: price, as: amount }
      - { column: Verkauft, property: sold, as: date }
      - { column: Von, property: created, inverse: true, class: Artist, lookup: { AS: Ada Sol } }
      - { column: Notiz, property: note, language: de }
`
      const { facts, misfits } = yield* read(
        "works.tsv",
        "Werk\tPreis\tVerkauft\tVon\tNotiz\nTor\t1.200,50 €\t3.4.2001\tas\trot\nWand\tviel\t3.4.2001\tXY\t\n",
        mapping,
      )
      assert.deepStrictEqual(facts, [
        "Tor | price | 1200.5 [Preis: 1.200,50 €]",
        "Tor | sold | 2001-04-03 [Verkauft: 3.4.2001]",
        "Ada Sol | created | Tor [Von: as]",
        "Tor | note | rot [Notiz: rot]",
        "Wand | sold | 2001-04-03 [Verkauft: 3.4.2001]",
      ])
      assert.deepStrictEqual(misfits, ["viel", "XY"])
    }),
  )

  it.effect("is found in HTML, in the front matter of Markdown and in each sheet of a workbook", () =>
    Effect.gen(function* () {
      const mapping = `files:
  - { file: "*", table: front matter, class: Artist, name: title, facts: [{ column: born.place, property: born in }, { column: "tags[]", property: memberOf }] }
  - { file: "*", class: Artist, name: Painter, facts: [{ column: Home, property: born in }] }
`
      const html =
        "<p>Ada Sol was born in Kell.</p><table><tr><th>Painter<th>Home<tr><td>Ada Sol<td>Kell</table><table><tr><th>A<th>B<tr><td>1<td>2</table>"
      assert.deepStrictEqual((yield* read("a.html", html, mapping)).facts, ["Ada Sol | bornIn | Kell [Home: Kell]"])
      const markdown =
        '---\ntitle: "Ada Sol"\nborn:\n  place: Kell\ntags: [Dada, Fluxus]\n---\n# Ada\n\n| Painter | Home |\n|---|---|\n| Jon Bray | Ost |\n'
      assert.deepStrictEqual((yield* read("a.md", markdown, mapping)).facts, [
        "Ada Sol | bornIn | Kell [born place: Kell]",
        "Ada Sol | memberOf | Dada [tags: Dada]",
        "Ada Sol | memberOf | Fluxus [Fluxus]",
        "Jon Bray | bornIn | Ost [Home: Ost]",
      ])
      const sheets = workbook([
        {
          name: "One",
          rows: [
            ["Painter", "Home"],
            ["Ada Sol", "Kell"],
          ],
        },
        { name: "Empty", rows: [] },
        {
          name: "Two",
          rows: [
            ["Home", "Painter"],
            ["Ost", "Jon Bray"],
          ],
        },
      ])
      assert.deepStrictEqual((yield* read("a.xlsx", sheets, mapping)).facts, [
        "Ada Sol | bornIn | Kell [Home: Kell]",
        "Jon Bray | bornIn | Ost [Home: Ost]",
      ])
    }),
  )
})

describe("an object with a mapping", () => {
  const mapping = `files:
  - file: artists/*.json
    class: Artist
    name: fc
    identifier: id
    facts:
      - { column: birth.place.name, property: born in }
      - { column: "movements[].name", property: memberOf }
    nested:
      - each: works[]
        link: { property: created }
        class: Work
        name: title
        facts: [{ column: price, property: price }]
    leaveOut: [url, "movements[]"]
`
  const artist = {
    id: 3,
    fc: "Ada Sol",
    url: "https://example.org",
    birth: { place: { name: "Kell", type: "town" } },
    movements: [{ name: "Dada", id: 1 }],
    works: [
      { title: "Tor", price: 12.5, hall: 2 },
      { title: 1984, price: 3 },
    ],
  }

  it.effect("reads nested values, and links the records of its lists", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("artists/ada.json", JSON.stringify(artist), mapping), {
        facts: [
          "Ada Sol | bornIn | Kell [birth place name: Kell]",
          "Ada Sol | memberOf | Dada [name: Dada]",
          "Tor | price | 12.5 [price: 12.5]",
          "Ada Sol | created | Tor [title: Tor]",
        ],
        names: ["Ada Sol #3", "Tor"],
        misfits: ["title: 1984; price: 3"],
        notRead: ["birth.place.type: town", "hall: 2"].map((cell) => cell.replace(/^hall/, "works[].hall")),
      })
    }),
  )

  it.effect("is each line of JSON, and each item of a list inside an object", () =>
    Effect.gen(function* () {
      const lines = `${JSON.stringify({ fc: "Ada Sol", birth: { place: { name: "Kell" } } })}\n\n${JSON.stringify({ fc: "Jon Bray", movements: [] })}\n`
      assert.deepStrictEqual((yield* read("artists/all.jsonl", lines, mapping.replace("*.json", "*.jsonl"))).names, ["Ada Sol", "Jon Bray"])
      const inList = mapping.replace("class: Artist", 'each: "artists[]"\n    class: Artist')
      const { facts, notRead } = yield* read("artists/a.json", JSON.stringify({ count: 1, artists: [artist] }), inList)
      assert.strictEqual(facts.length, 4)
      assert.include(notRead, "count: 1")
    }),
  )
})

describe("a mapping that cannot be used is refused with what is wrong", () => {
  const rule = (facts: string, more = "") => `files: [{ file: a.csv, class: Artist, name: n, facts: [${facts}]${more} }]`
  it.effect.each([
    [rule("{ column: a, property: borne in }"), 'the ontology has no property "borne in"'],
    [rule("{ column: a, property: price }"), "price has no subject of the class Artist"],
    [rule("{ column: a, property: born in, class: Movement }"), "bornIn has no object of the class Movement"],
    [rule("{ column: a, property: knows }"), "give it a class"],
    [rule("{ column: a, property: birthYear, inverse: true }"), "cannot be a subject"],
    [rule("{ column: a, property: birthYear, locale: xx-YYYYYYYYY }"), "which does not exist"],
    [rule("{ column: a, property: born in, as: list }"), "give its separator"],
    [
      rule("", ", nested: [{ each: 'w[]', link: { property: born in }, class: Work, name: t, facts: [] }]"),
      "bornIn has no object of the class Work",
    ],
    [rule("").replace("Artist", "Painter"), 'the ontology has no class "Painter"'],
  ] as const)("%s", ([mapping, problem]) => Effect.map(refused(mapping), ({ message }) => assert.include(message, problem)))

  it.effect.each([
    ["files: [{ file: a.csv", "it is no YAML"],
    ["files: [{ file: a.csv, class: A, name: n, facts: [], colour: red }]", "colour"],
    ["files: 3", "files"],
  ] as const)("%s", ([mapping, problem]) =>
    Effect.map(Effect.flip(readFactMapping("mapping.yaml", mapping)), ({ message }) => assert.include(message, problem)),
  )
})
