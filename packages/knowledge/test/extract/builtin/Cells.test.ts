import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readDocument } from "../../../src/document/DocumentReader.ts"
import * as BuiltIn from "../../../src/extract/builtin/BuiltIn.ts"
import { loadOntology } from "../../../src/ontology/OntologyLoading.ts"

/** Wind farms, their turbines and companies. No examples. "turbine model" is the label of a class and of a property. */
const ontology = loadOntology({
  name: "wind.ttl",
  text: `@prefix : <https://example.org/wind#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :WindFarm a owl:Class ; rdfs:label "wind farm" ; owl:disjointWith :Company , :Place , :TurbineModel .
    :Company a owl:Class ; rdfs:label "company" ; owl:disjointWith :Place , :TurbineModel .
    :Place a owl:Class ; rdfs:label "place" ; owl:disjointWith :TurbineModel .
    :TurbineModel a owl:Class ; rdfs:label "turbine model" .
    :operatedBy a owl:ObjectProperty ; rdfs:label "operated by" ; skos:altLabel "operator" ; rdfs:domain :WindFarm ; rdfs:range :Company .
    :locatedIn a owl:ObjectProperty ; rdfs:label "located in" ; skos:altLabel "location" ; rdfs:domain :WindFarm ; rdfs:range :Place .
    :usesTurbine a owl:ObjectProperty ; rdfs:label "uses turbine" ; skos:altLabel "turbine model" ;
      rdfs:domain :WindFarm ; rdfs:range :TurbineModel .
    :madeBy a owl:ObjectProperty ; rdfs:label "made by" ; skos:altLabel "manufacturer" ;
      rdfs:domain :TurbineModel ; rdfs:range :Company .
    :headquarteredIn a owl:ObjectProperty ; rdfs:label "headquartered in" ; skos:altLabel "headquarters" ;
      rdfs:domain :Company ; rdfs:range :Place .
    :capacity a owl:DatatypeProperty ; rdfs:label "capacity" ; skos:altLabel "installed capacity" ;
      rdfs:domain :WindFarm ; rdfs:range xsd:decimal .
    :turbines a owl:DatatypeProperty ; rdfs:label "number of turbines" ; skos:altLabel "turbines" ;
      rdfs:domain :WindFarm ; rdfs:range xsd:integer .
    :commissioned a owl:DatatypeProperty ; rdfs:label "commissioned on" ; skos:altLabel "commissioning date", "commissioned" ;
      rdfs:domain :WindFarm ; rdfs:range xsd:date .
    :hubHeight a owl:DatatypeProperty ; rdfs:label "hub height" ; rdfs:domain :TurbineModel ; rdfs:range xsd:decimal .
    :permit a owl:DatatypeProperty ; rdfs:label "permit number" ; rdfs:domain :WindFarm ; rdfs:range xsd:string .`,
})

const read = Effect.fnUntraced(function* (name: string, content: string, language?: string) {
  const index = yield* ontology
  const { text } = yield* readDocument({ name }, Buffer.from(content))
  const chunk = { index: 0, text, offset: 0, ...(language === undefined ? {} : { language }) }
  const extractor = BuiltIn.make()
  const { mentions, misfits = [] } = yield* extractor.entities(chunk, index)
  const { facts } = yield* extractor.facts(chunk, mentions, index)
  for (const { quote, span, subject, object } of facts) {
    assert.strictEqual(quote, text.slice(span.start, span.end))
    const end = object._tag === "Entity" ? object.mention : object
    for (const part of [subject, end]) assert.strictEqual(part.text, text.slice(part.span.start, part.span.end))
  }
  return {
    facts: facts
      .map(
        ({ subject, property, object }) =>
          `${subject.text} | ${index.label(property)} | ${object._tag === "Entity" ? object.mention.text : object.lexical}`,
      )
      .sort(),
    misfits: misfits.map(({ text: value }) => value),
  }
})

const factsOf = (name: string, content: string, language?: string) => Effect.map(read(name, content, language), ({ facts }) => facts)

describe("a row or a record without a name", () => {
  it.effect("is counted and named where the header of its names is unknown", () =>
    Effect.gen(function* () {
      const { facts, misfits } = yield* read("a.csv", "Capacity,Security,Operator\n5,Alpha Hill,Nordvind Energi\n7,Beta Hill,Cymru Gwynt\n")
      assert.deepStrictEqual(facts, [])
      assert.deepStrictEqual(misfits, [
        "Capacity: 5; Security: Alpha Hill; Operator: Nordvind Energi",
        "Capacity: 7; Security: Beta Hill; Operator: Cymru Gwynt",
      ])
      const bars = "| Capacity | Security |\n| --- | --- |\n| 5 | Alpha Hill |\n"
      assert.strictEqual((yield* read("a.txt", bars)).misfits.length, 1)
    }),
  )

  it.effect("is not named by a number or a boolean", () =>
    Effect.gen(function* () {
      for (const value of [0, 17, true, 3.5]) {
        const { facts, misfits } = yield* read("a.json", JSON.stringify([{ ref: value, operator: "Cymru Gwynt" }]))
        assert.deepStrictEqual(facts, [])
        assert.deepStrictEqual(misfits, [`ref: ${value}; operator: Cymru Gwynt`])
      }
      assert.deepStrictEqual(yield* factsOf("a.json", '{"title": "1984", "operator": "Cymru Gwynt"}'), ["1984 | operated by | Cymru Gwynt"])
    }),
  )
})

describe("a key", () => {
  it.effect("means a property by its labels alone", () =>
    Effect.gen(function* () {
      const facts = yield* factsOf(
        "a.json",
        JSON.stringify({ name: "Alpha Hill", height: 5, "turbine models": "V164", operator: "Cymru Gwynt" }),
      )
      assert.deepStrictEqual(facts, ["Alpha Hill | operated by | Cymru Gwynt"])
    }),
  )
})

describe("a list of records", () => {
  it.effect("is linked to its parent by the key that is a label of a property", () =>
    Effect.gen(function* () {
      const record = { name: "Alpha Hill", operator: [{ name: "Cymru Gwynt", headquarters: "Bangor" }, { name: "Nordvind Energi" }], id: 7 }
      assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify(record)), [
        "Alpha Hill | operated by | Cymru Gwynt",
        "Alpha Hill | operated by | Nordvind Energi",
        "Cymru Gwynt | headquartered in | Bangor",
      ])
    }),
  )
})

describe("a number in a cell", () => {
  const cases: ReadonlyArray<readonly [cell: string, value: string | undefined]> = [
    ["105 m", "105"],
    ["105m", "105"],
    ["105 M", "105"],
    ["105 b", "105"],
    ["105 k", undefined],
    ["105K", undefined],
    ["105k", "105000"],
    ["105 mm", "105"],
    ["105 metres", "105"],
    ["105.5MW", "105.5"],
    ["105 m²", "105"],
    ["105 m2", "105"],
    ["105 km/h", "105"],
    ["105 (tip 180)", "105"],
    ["0,105 km", "0.105"],
    ["0.105", "0.105"],
    ["3,5", "3.5"],
    ["1'250", "1250"],
    ["1’250’000.5", "1250000.5"],
    ["12,34,567.5", "1234567.5"],
    ["9.1e6", "9100000"],
    ["9.1E-3", "0.0091"],
    ["1e+21", "1000000000000000000000"],
    ["1e400", undefined],
    ["-5", "-5"],
    ["−5", "-5"],
    ["105 mio", "105000000"],
    ["1.2bn", "1200000000"],
    ["3 hundred thousand", "300000"],
    ["$105m", "105000000"],
    ["€ 105 M", "105000000"],
    ["105 M€", "105000000"],
    ["105 k EUR", "105000"],
    ["$3b", "3000000000"],
    ["$3 m²", "3"],
    ["2 x 105", undefined],
    ["2x105", undefined],
    ["105–110 m", undefined],
    ["105 to 110", undefined],
    ["105/110", undefined],
    ["12:30", undefined],
    ["3½", undefined],
    ["3 1/2", undefined],
    ["1,2,3", undefined],
    ["105.50.3", undefined],
    ["5 10", undefined],
  ]
  for (const [cell, value] of cases) {
    it.effect(`is ${value ?? "none"} for ${cell}`, () =>
      Effect.gen(function* () {
        const { facts, misfits } = yield* read("a.csv", `Turbine model\tHub height\nV164\t${cell}\n`)
        assert.deepStrictEqual(facts, value === undefined ? [] : [`V164 | hub height | ${value}`])
        assert.deepStrictEqual(misfits, value === undefined ? [cell] : [])
      }),
    )
  }

  it.effect("is whole for a property of integers if its value is", () =>
    Effect.gen(function* () {
      const source = "Name;Turbines\nAlpha Hill;9.1e6\nBeta Hill;12.0\nGamma Hill;1.5\n"
      const { facts, misfits } = yield* read("a.csv", source)
      assert.deepStrictEqual(facts, ["Alpha Hill | number of turbines | 9100000", "Beta Hill | number of turbines | 12"])
      assert.deepStrictEqual(misfits, ["1.5"])
    }),
  )

  it.effect("follows the language of its document", () =>
    Effect.gen(function* () {
      const facts = yield* factsOf("a.csv", "Name;Capacity\nAlpha;1.200,5\nBeta;0.105\nGamma;2 Billionen\nDelta;3 Billion\n", "de")
      assert.deepStrictEqual(facts, [
        "Alpha | capacity | 1200.5",
        "Beta | capacity | 0.105",
        "Delta | capacity | 3000000000000",
        "Gamma | capacity | 2000000000000",
      ])
    }),
  )
})

describe("a number in a sentence", () => {
  const cases: ReadonlyArray<readonly [number: string, value: string | undefined]> = [
    ["407.5MW", "407.5"],
    ["12.75kW", "12.75"],
    ["1.2bn", "1200000000"],
    ["407.5", "407.5"],
    ["407.5, as planned", "407.5"],
    ["1,250,000", "1250000"],
    ["1998.5MW", undefined],
    ["3.5 million", "3500000"],
    ["105–110 MW", undefined],
    ["105/110 MW", undefined],
  ]
  for (const [number, value] of cases) {
    it.effect(`is ${value ?? "none"} for ${number}`, () =>
      Effect.gen(function* () {
        const facts = yield* factsOf("a.txt", `Alder Hill is a wind farm. Alder Hill has a capacity of ${number}.`)
        assert.deepStrictEqual(facts, value === undefined ? [] : [`Alder Hill | capacity | ${value}`])
      }),
    )
  }
})

describe("a date in a cell", () => {
  const cases: ReadonlyArray<readonly [cell: string, value: string | undefined]> = [
    ["2001-05-03", "2001-05-03"],
    ["2001-05-03T00:00:00Z", "2001-05-03"],
    ["2001-05-03 12:30", "2001-05-03"],
    ["3-May-2001", "2001-05-03"],
    ["03-mai-2001", "2001-05-03"],
    ["25/05/2001", "2001-05-25"],
    ["05/25/2001", "2001-05-25"],
    ["05/05/2001", "2001-05-05"],
    ["25-05-2001", "2001-05-25"],
    ["2001/05/25", "2001-05-25"],
    ["20010525", "2001-05-25"],
    ["14.06.2016", "2016-06-14"],
    ["03/04/2001", undefined],
    ["03.04.2001", undefined],
    ["31/02/2001", undefined],
    ["20011325", undefined],
    ["2001-13-03T00:00:00Z", undefined],
    ["32-May-2001", undefined],
    ["May 2001", undefined],
  ]
  for (const [cell, value] of cases) {
    it.effect(`is ${value ?? "none"} for ${cell}`, () =>
      Effect.gen(function* () {
        const { facts, misfits } = yield* read("a.csv", `Wind farm,Commissioned\nAlpha Hill,${cell}\n`)
        assert.deepStrictEqual(facts, value === undefined ? [] : [`Alpha Hill | commissioned on | ${value}`])
        assert.deepStrictEqual(misfits, value === undefined ? [cell] : [])
      }),
    )
  }

  it.effect("has its day first where the language has", () =>
    Effect.gen(function* () {
      const facts = yield* factsOf("a.csv", "Wind farm;Commissioned\nAlpha;03/04/2001\nBeta;03.04.2001\nGamma;05/25/2001\n", "de")
      assert.deepStrictEqual(facts, [
        "Alpha | commissioned on | 2001-04-03",
        "Beta | commissioned on | 2001-04-03",
        "Gamma | commissioned on | 2001-05-25",
      ])
    }),
  )
})

describe("the subject of a record", () => {
  it.effect("is not the line before it if its name is missing", () =>
    Effect.gen(function* () {
      const rows = ["Alpha Hill,windy,Nordvind Energi,12", ",calm,Cymru Gwynt,5", ",,Cymru Gwynt,", "Beta Hill,,Nordvind Energi,7"]
      const expected = [
        "Alpha Hill | number of turbines | 12",
        "Alpha Hill | operated by | Nordvind Energi",
        "Beta Hill | number of turbines | 7",
        "Beta Hill | operated by | Nordvind Energi",
      ]
      for (const name of ["Wind farm", "Name", "Project"]) {
        const header = `${name},Remarks,Operator,Number of turbines`
        assert.deepStrictEqual(yield* factsOf("a.csv", [header, ...rows].join("\n")), expected, name)
        assert.deepStrictEqual(yield* factsOf("a.csv", [header, rows[1], rows[0], rows[3]].join("\n")), expected, `${name}, first`)
      }
    }),
  )

  it.effect("is not a placeholder", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* factsOf("a.csv", "Wind farm,Operator\nN/A,Cymru Gwynt\n"), [])
      assert.deepStrictEqual(yield* factsOf("a.txt", "Wind farm | Operator\n--- | ---\nunknown | Cymru Gwynt\n"), [])
    }),
  )

  it.effect("is not its class", () =>
    Effect.gen(function* () {
      const named = { name: "Alpha Hill", type: "wind farm", operator: "Nordvind Energi" }
      const unnamed = { type: "wind farm", operator: "Cymru Gwynt", turbines: 5 }
      assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify([named, unnamed])), ["Alpha Hill | operated by | Nordvind Energi"])
      assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify([unnamed, named])), ["Alpha Hill | operated by | Nordvind Energi"])
      assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify(unnamed)), [])
    }),
  )

  it.effect("is the field that a class names, before a number", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* factsOf("a.json", '{"id": 17, "windFarm": "Mu Twelve", "operator": "Cymru Gwynt"}'), [
        "Mu Twelve | operated by | Cymru Gwynt",
      ])
    }),
  )

  it.effect("is the first column, also if its header is a label of a property, too", () =>
    Effect.gen(function* () {
      const expected = [
        "G90 | hub height | 98",
        "G90 | made by | Gamera Wind",
        "V164 | hub height | 105",
        "V164 | made by | Vestmark Systems",
      ]
      const rows = ["Turbine model,Manufacturer,Hub height", "V164,Vestmark Systems,105", "G90,Gamera Wind,98"]
      assert.deepStrictEqual(yield* factsOf("a.csv", rows.join("\n")), expected)
      assert.deepStrictEqual(yield* factsOf("a.txt", rows.join("\n")), expected)
      const table = `# Turbines of Vestmark Systems\n\n${rows
        .toSpliced(1, 0, "---,---,---")
        .map((row) => `| ${row.replaceAll(",", " | ")} |`)
        .join("\n")}\n`
      assert.deepStrictEqual(yield* factsOf("a.md", table), expected)
    }),
  )

  it.effect("is the heading if a field with the name of a class is one of its properties", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* factsOf("a.txt", "# Alpha Hill\n\nTurbine model: V164\nOperator: Cymru Gwynt\n\nCapacity: 12\n"), [
        "Alpha Hill | capacity | 12",
        "Alpha Hill | operated by | Cymru Gwynt",
        "Alpha Hill | uses turbine | V164",
      ])
    }),
  )
})

describe("names in a cell", () => {
  const cases: ReadonlyArray<readonly [cell: string, names: ReadonlyArray<string>]> = [
    ["Gale, Ross & Partners", ["Gale, Ross & Partners"]],
    ["Gale, Ross and Partners", ["Gale, Ross and Partners"]],
    ["Weber, Klein und Söhne", ["Weber, Klein und Söhne"]],
    ["Müller & Söhne, Windkraft KG", ["Müller & Söhne, Windkraft KG"]],
    ["Acme, Inc.", ["Acme, Inc."]],
    ["Acme, S.A.", ["Acme, S.A."]],
    ["Nordwind, GmbH & Co. KG", ["Nordwind, GmbH & Co. KG"]],
    ["Acme, Inc., Beta Ltd", ["Acme, Inc.", "Beta Ltd"]],
    ["Acme AG, Müller & Söhne", ["Acme AG", "Müller & Söhne"]],
    ["Cymru Gwynt; Gale, Ross & Partners", ["Cymru Gwynt", "Gale, Ross & Partners"]],
  ]
  for (const [cell, names] of cases) {
    it.effect(`${cell} are ${names.length}`, () =>
      Effect.gen(function* () {
        const expected = names.map((name) => `Alpha Hill | operated by | ${name}`)
        assert.deepStrictEqual(yield* factsOf("a.csv", `Wind farm,Operator\nAlpha Hill,"${cell}"\n`), expected)
        assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify({ name: "Alpha Hill", operator: cell })), expected)
      }),
    )
  }

  for (const cell of [
    "Verizon, AT&T",
    "Cymru Gwynt, Nordvind Energi",
    "Paris, France",
    "Cymru Gwynt,Nordvind Energi",
    "Paris, France; Rome",
  ])
    it.effect(`${cell} may be one or several, and is counted as not read`, () =>
      Effect.gen(function* () {
        const expected = { facts: [], misfits: [cell] }
        assert.deepStrictEqual(yield* read("a.csv", `Wind farm,Operator\nAlpha Hill,"${cell}"\n`), expected)
        assert.deepStrictEqual(yield* read("a.json", JSON.stringify({ name: "Alpha Hill", operator: cell })), expected)
        assert.deepStrictEqual(yield* read("a.md", `| Wind farm | Operator |\n| --- | --- |\n| Alpha Hill | ${cell} |\n`), expected)
      }),
    )

  it.effect("are one name where the property has one value", () =>
    Effect.gen(function* () {
      const people = yield* loadOntology({
        name: "people.ttl",
        text: `@prefix : <https://example.org/people#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
          @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
          :Person a owl:Class ; rdfs:label "person" . :Place a owl:Class ; rdfs:label "place" .
          :birthPlace a owl:ObjectProperty, owl:FunctionalProperty ; rdfs:label "birth place" ; rdfs:domain :Person ; rdfs:range :Place .`,
      })
      const { text } = yield* readDocument({ name: "a.csv" }, Buffer.from('Person,Birth place\nAda Sol,"Paris, France"\n'))
      const chunk = { index: 0, text, offset: 0 }
      const { mentions } = yield* BuiltIn.make().entities(chunk, people)
      const { facts } = yield* BuiltIn.make().facts(chunk, mentions, people)
      assert.deepStrictEqual(
        facts.map(({ subject, object }) => [subject.text, object._tag === "Entity" ? object.mention.text : undefined]),
        [["Ada Sol", "Paris, France"]],
      )
    }),
  )

  it.effect("of a JSON list are one each", () =>
    Effect.gen(function* () {
      const operator = ["Vestas", "Müller & Söhne", "Acme, Inc."]
      assert.deepStrictEqual(
        yield* factsOf("a.json", JSON.stringify({ name: "Alpha Hill", operator })),
        operator.map((name) => `Alpha Hill | operated by | ${name}`).sort(),
      )
    }),
  )
})

describe("a placeholder", () => {
  const placeholders =
    "N/A|n/a|NA|n.a.|none|None|null|nil|unknown|UNKNOWN|(unknown)|?|??|-|--|—|–|...|TBD|tbc|k.A.|k. A.|unbekannt|inconnu|desconocido|not available"
  for (const value of placeholders.split("|")) {
    it.effect(`gives no fact: ${value}`, () =>
      Effect.gen(function* () {
        const header = "Wind farm,Operator,Capacity,Permit number"
        const expected = { facts: [], misfits: [] }
        assert.deepStrictEqual(yield* read("a.csv", `${header}\nAlpha Hill,${value},${value},${value}\n`), expected)
        assert.deepStrictEqual(yield* read("a.txt", `${header}\nAlpha Hill,${value},${value},${value}\n`), expected)
        const record = { name: "Alpha Hill", operator: value, capacity: value, "permit number": value }
        assert.deepStrictEqual(yield* read("a.json", JSON.stringify(record)), expected)
      }),
    )
  }

  it.effect("is the whole value: a name may contain one", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* factsOf("a.csv", "Wind farm,Operator,Location\nAlpha Hill,Unknown Energy,NC\n"), [
        "Alpha Hill | located in | NC",
        "Alpha Hill | operated by | Unknown Energy",
      ])
    }),
  )
})

describe("a nested JSON object", () => {
  it.effect("is named by its name", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* factsOf("a.json", '{"name": "Alpha Hill", "location": {"name": "Iowa"}}'), [
        "Alpha Hill | located in | Iowa",
      ])
      assert.deepStrictEqual(yield* factsOf("a.json", '{"location": {"name": "Iowa"}}'), [])
    }),
  )

  it.effect("is the subject of its other fields", () =>
    Effect.gen(function* () {
      const record = {
        name: "V164",
        parts: [{ name: "Blade" }],
        manufacturer: { headquarters: "Oslo", name: "Vestmark" },
        hubHeight: 105,
      }
      assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify(record)), [
        "V164 | hub height | 105",
        "V164 | made by | Vestmark",
        "Vestmark | headquartered in | Oslo",
      ])
      const nameless = { name: "V164", manufacturer: { headquarters: "Oslo" } }
      assert.deepStrictEqual(yield* factsOf("a.json", JSON.stringify(nameless)), [])
    }),
  )
})
