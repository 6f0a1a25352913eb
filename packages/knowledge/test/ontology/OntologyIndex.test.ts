import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { cyclesOf, Hierarchy } from "../../src/ontology/Hierarchy.ts"
import { findJsonFault } from "../../src/ontology/JsonFault.ts"
import { OntologyIndex } from "../../src/ontology/OntologyIndex.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { iri, turtle } from "./library.ts"

const library = loadOntology({ name: "library.ttl", text: turtle })

/** Two hundred kinds of thing, each with a property of its own. */
const large = loadOntology({
  name: "large.ttl",
  text: `@prefix : <https://example.org/l#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    :Thing a owl:Class ; rdfs:label "item" . :Person a owl:Class ; rdfs:label "person" ; rdfs:subClassOf :Thing .
    ${Array.from({ length: 200 }, (_, at) => `:C${at} a owl:Class ; rdfs:label "kind ${at}" ; rdfs:subClassOf :Thing . :p${at} a owl:ObjectProperty ; rdfs:label "property ${at}" ; rdfs:domain :C${at} ; rdfs:range :Person .`).join("\n")}
    :Lighthouse a owl:Class ; rdfs:label "lighthouse" ; rdfs:subClassOf :Thing .
    :keeper a owl:ObjectProperty ; rdfs:label "tended by" ; rdfs:domain :Lighthouse ; rdfs:range :Person .
    :employer a owl:ObjectProperty ; rdfs:label "employer" ; rdfs:domain :Person ; rdfs:range :C7 .
    :whenFinished a owl:DatatypeProperty ; rdfs:label "construction finished" ; rdfs:domain :Lighthouse ; rdfs:range xsd:date .`,
})

describe("the index of an ontology", () => {
  it.effect("knows what lies above and below", () =>
    Effect.gen(function* () {
      const index = yield* library
      assert.deepStrictEqual([...index.ancestors(iri("Novel"))].sort(), [iri("Book"), iri("Work")])
      assert.deepStrictEqual([...index.descendants(iri("Work"))].sort(), [iri("Book"), iri("Magazine"), iri("Novel")])
      assert.deepStrictEqual([...index.propertyAncestors(iri("firstAuthor"))], [iri("author")])
      assert.isTrue(index.isA(iri("Novel"), iri("Novel")))
      assert.isFalse(index.isA(iri("Work"), iri("Novel")))
      assert.deepStrictEqual([...index.ancestors("https://example.org/unknown")], [])
    }),
  )

  it.effect("is the same for another process, in however many parts it is packed", () =>
    Effect.gen(function* () {
      const text = Array.from({ length: 7000 }, (_, at) => `<urn:c:${at}> a <http://www.w3.org/2002/07/owl#Class> .`).join("\n")
      for (const index of [yield* library, yield* large, yield* loadOntology({ name: "parts.ttl", text })]) {
        assert.deepStrictEqual(OntologyIndex.unpack(index.pack()).toJSON(), index.toJSON())
        assert.deepStrictEqual((yield* OntologyIndex.unpackInTurns(index.pack())).toJSON(), index.toJSON())
      }
    }),
  )

  it.effect("knows which properties can hold between two classes", () =>
    Effect.gen(function* () {
      const index = yield* library
      const between = (one: string, other: string) => index.propertiesBetween(iri(one), iri(other)).map(({ iri: name }) => name)
      assert.deepStrictEqual(between("Novel", "Person"), [iri("author"), iri("firstAuthor")])
      assert.deepStrictEqual(between("Magazine", "Publisher"), [iri("publisher")])
      assert.deepStrictEqual(between("Person", "Novel"), [iri("wrote")])
      assert.deepStrictEqual(between("Person", "Person"), [])
    }),
  )

  it.effect("takes over domain and range from the property above and from the inverse", () =>
    Effect.gen(function* () {
      const index = yield* library
      assert.deepStrictEqual(index.domainOf(iri("firstAuthor")), [[iri("Work")]])
      assert.deepStrictEqual(index.domainOf(iri("wrote")), [[iri("Person")]])
      assert.deepStrictEqual(index.rangeOf(iri("wrote")), [[iri("Work")]])
    }),
  )

  it.effect("takes several ranges as all of them where a class can be that, and as alternatives where none can", () =>
    Effect.gen(function* () {
      const name = (local: string) => `https://example.org/club#${local}`
      const index = yield* loadOntology({
        name: "club.ttl",
        text: `@prefix : <https://example.org/club#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
          @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
          :Person a owl:Class . :Company a owl:Class . :Club a owl:Class . :Sponsor a owl:Class .
          :SponsoringCompany a owl:Class ; rdfs:subClassOf :Sponsor , :Company .
          :designedBy a owl:ObjectProperty ; rdfs:domain :Club ; rdfs:range :Person , :Company .
          :paidBy a owl:ObjectProperty ; rdfs:domain :Club ; rdfs:range :Sponsor , :Company .`,
      })
      const between = (type: string) => index.propertiesBetween(name("Club"), name(type)).map(({ iri }) => iri)
      assert.deepStrictEqual(between("Person"), [name("designedBy")])
      assert.deepStrictEqual(between("Company"), [name("designedBy")])
      assert.deepStrictEqual(between("Sponsor"), [])
      assert.deepStrictEqual(between("SponsoringCompany"), [name("designedBy"), name("paidBy")])
    }),
  )

  it.effect("tells values from entities", () =>
    Effect.gen(function* () {
      const index = yield* library
      const integer = "http://www.w3.org/2001/XMLSchema#integer"
      assert.isTrue(index.acceptsValue(iri("pages"), integer))
      assert.isFalse(index.acceptsValue(iri("pages"), "http://www.w3.org/2001/XMLSchema#string"))
      assert.isFalse(index.acceptsObject(iri("pages"), iri("Person")))
      assert.isFalse(index.acceptsValue(iri("author"), integer))
      assert.deepStrictEqual(index.datatypesOf(iri("pages")), [integer])
    }),
  )

  it.effect("inherits disjointness", () =>
    Effect.gen(function* () {
      const index = yield* library
      assert.isTrue(index.areDisjoint(iri("Publisher"), iri("Person")))
      assert.isTrue(index.areDisjoint(iri("Person"), iri("Publisher")))
      assert.isFalse(index.areDisjoint(iri("Novel"), iri("Person")))
    }),
  )

  it.effect("finds terms by label, however it is written", () =>
    Effect.gen(function* () {
      const index = yield* library
      assert.deepStrictEqual(index.withLabel("Human-Being"), { classes: [iri("Person")], properties: [] })
      assert.deepStrictEqual(index.withLabel("publisher"), { classes: [iri("Publisher")], properties: [iri("publisher")] })
      assert.deepStrictEqual(index.withLabel("WRITTEN  BY"), { classes: [], properties: [iri("author")] })
      assert.deepStrictEqual(index.withLabel("nothing"), { classes: [], properties: [] })
    }),
  )

  it.effect("becomes JSON and back and gives the same answers", () =>
    Effect.gen(function* () {
      const index = yield* library
      const back = OntologyIndex.fromJSON(JSON.parse(JSON.stringify(index)))
      assert.deepStrictEqual(back.toJSON(), index.toJSON())
      assert.isTrue(back.isA(iri("Novel"), iri("Work")))
      assert.throws(() => OntologyIndex.fromJSON({ classes: [] }))
    }),
  )
})

describe("the part of an ontology that a text needs", () => {
  it.effect("is the whole when it is small", () =>
    Effect.gen(function* () {
      const index = yield* library
      assert.strictEqual(index.relevantTo("Anything at all."), index)
    }),
  )

  it.effect("has what the text names, what it may mean, and what these need", () =>
    Effect.gen(function* () {
      const index = yield* large
      const part = index.relevantTo("The lighthouse was tended by Ada, who works for a shipyard.", { most: 10 })
      const name = (local: string) => `https://example.org/l#${local}`
      assert.isTrue(part.properties.has(name("keeper")))
      assert.isTrue(part.properties.has(name("employer")))
      assert.isTrue(part.classes.has(name("C7")), "the range of a property that may be meant")
      assert.isTrue(part.classes.has(name("Thing")), "what lies above")
      assert.isTrue(part.acceptsSubject(name("keeper"), name("Lighthouse")))
      assert.isAtMost(part.properties.size, 10)
      assert.isBelow(part.classes.size, 30)
    }),
  )

  it.effect("has properties for dates when the text has dates", () =>
    Effect.gen(function* () {
      const index = yield* large
      const built = "https://example.org/l#whenFinished"
      assert.isTrue(index.relevantTo("In 1929 it was there.", { most: 3 }).properties.has(built))
      assert.isFalse(index.relevantTo("One day it was there.", { most: 3 }).properties.has(built))
    }),
  )
})

const graph = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Tuple([Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7]), Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7])])), {
    maxLength: 14,
  }),
  (edges) => {
    const parents = new Map(Array.from({ length: 8 }, (_, term): [string, Array<string>] => [String(term), []]))
    for (const [from, to] of edges) parents.get(String(from))?.push(String(to))
    return parents
  },
)

describe("a hierarchy", () => {
  it.prop("is transitive, and knows below what it knows above", { parents: graph }, ({ parents }) => {
    const hierarchy = new Hierarchy(parents)
    const terms = [...parents.keys()]
    for (const [child, above] of parents) for (const parent of above) assert.isTrue(hierarchy.isA(child, parent))
    for (const one of terms) {
      for (const other of terms) {
        assert.strictEqual(hierarchy.ancestors(one).has(other), hierarchy.descendants(other).has(one))
        for (const third of terms) {
          if (hierarchy.isA(one, other) && hierarchy.isA(other, third)) assert.isTrue(hierarchy.isA(one, third))
        }
      }
    }
  })

  it.prop(
    "finds in one pass what lies below another of some terms",
    { parents: graph, marked: Arbitrary.array(Arbitrary.schema(Schema.Literals([0, 1, 2, 3, 4, 5, 6, 7])), { maxLength: 4 }) },
    ({ parents, marked }) => {
      const hierarchy = new Hierarchy(parents)
      const terms = new Set(marked.map(String))
      const expected = [...parents.keys()].filter((term) => [...hierarchy.ancestors(term)].some((above) => terms.has(above)))
      assert.deepStrictEqual([...hierarchy.belowAny(terms)].sort(), expected)
    },
  )

  it.prop("has a cycle exactly where two terms lie above each other", { parents: graph }, ({ parents }) => {
    const hierarchy = new Hierarchy(parents)
    const inCycles = new Set(cyclesOf(parents).flat())
    for (const one of parents.keys()) {
      const mutual = [...parents.keys()].some((other) => other !== one && hierarchy.isA(one, other) && hierarchy.isA(other, one))
      assert.strictEqual(inCycles.has(one), mutual)
    }
  })
})

const jsonPieces = ["{", "}", "[", "]", ",", ":", '"a"', '"\\u00e9"', '"\n"', "1", "-0.5e3", "01", "true", "null", "nul", " ", "\n", "'"]

describe("the place where JSON breaks", () => {
  it.prop(
    "is found exactly when it does not parse",
    [Arbitrary.array(Arbitrary.schema(Schema.Literals(jsonPieces)), { maxLength: 12 })],
    ([pieces]) => {
      const text = pieces.join("")
      const parses = (() => {
        try {
          JSON.parse(text)
          return true
        } catch {
          return false
        }
      })()
      assert.strictEqual(findJsonFault(text) === undefined, parses, text)
    },
  )

  it("is reported with its line", () => {
    assert.deepStrictEqual(findJsonFault('{\n"a": 1,\n"b" 2}'), { line: 3, problem: 'expected a colon but found "2"' })
    assert.deepStrictEqual(findJsonFault("[1, 2"), { line: 1, problem: "expected a comma or ] but the file ends" })
    assert.deepStrictEqual(findJsonFault("{} {}"), { line: 1, problem: "unexpected text after the end of the value" })
  })
})
