import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Fact, Mention } from "../../src/fact/Fact.ts"
import { entityIri, factTriples } from "../../src/fact/FactGraph.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { writeNTriples } from "../../src/rdf/Turtle.ts"
import { DocumentId, RunId } from "../../src/storage/Identity.ts"
import { derivedShapes, readShapes } from "../../src/validate/Shapes.ts"
import { validate } from "../../src/validate/Validation.ts"

const base = "https://example.org/sea#"
const ontologyText = `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Ship a owl:Class ; owl:disjointWith :Port . :Ferry a owl:Class ; rdfs:subClassOf :Ship . :Port a owl:Class .
:sailsTo a owl:ObjectProperty ; rdfs:domain :Ship ; rdfs:range :Port .
:built a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:domain :Ship ; rdfs:range xsd:gYear .
`
const source = {
  documentId: DocumentId.make("doc-000000000001"),
  runId: RunId.make("00000000-0000-8000-a000-000000000001"),
  extractor: "test",
}
const mention = (type: string, text: string): Mention => ({ type: base + type, text, span: { start: 0, end: text.length }, confidence: 1 })
const between = (subject: Mention, property: string, object: Mention): Fact => ({
  subject,
  property: base + property,
  object: { _tag: "Entity", mention: object },
  quote: `${subject.text} ${property} ${object.text}`,
  span: { start: 3, end: 30 },
  confidence: 0.9,
})
const built = (subject: Mention, year: string, datatype = "http://www.w3.org/2001/XMLSchema#gYear"): Fact => ({
  subject,
  property: `${base}built`,
  object: { _tag: "Value", text: year, span: { start: 0, end: 4 }, datatype, lexical: year },
  quote: `${subject.text} was built in ${year}`,
  span: { start: 0, end: 20 + Number(year) },
  confidence: 0.9,
})

const ferry = mention("Ferry", "Marit")
const ship = mention("Ship", "Orion")
const port = mention("Port", "Näs")
const iri = (one: Mention) => entityIri(source.documentId, one)

const ontology = loadOntology({ text: ontologyText, name: "sea.ttl" })
const linesOf = (facts: ReadonlyArray<Fact>) =>
  Effect.map(Stream.mkString(writeNTriples(Stream.fromIterable(factTriples(facts, source)))), (text) =>
    text.split("\n").filter((line) => line !== ""),
  )

const checked = (facts: ReadonlyArray<Fact>, shapesText?: string) =>
  Effect.gen(function* () {
    const index = yield* ontology
    const lines = Stream.fromIterable(yield* linesOf(facts))
    const shapes = yield* readShapes(shapesText ?? derivedShapes(index), "shapes.ttl")
    return { shapes, lines, found: yield* validate({ added: lines }, shapes, index) }
  })

describe("shapes derived from an ontology", () => {
  it.effect("find nothing in facts that fit, subclasses included", () =>
    Effect.gen(function* () {
      const { found, shapes } = yield* checked([between(ferry, "sailsTo", port), built(ferry, "1984")])
      expect(found).toEqual({ violations: 0, warnings: 0, listed: [], offenders: new Set() })
      expect(shapes.local).toBe(true)
    }),
  )

  it.effect.each([
    ["a subject of the wrong class", [between(port, "sailsTo", port)], port, "sailsTo"],
    ["an object of the wrong class", [between(ship, "sailsTo", ferry)], ship, "sailsTo"],
    ["a value of the wrong datatype", [built(ship, "1984", "http://www.w3.org/2001/XMLSchema#date")], ship, "built"],
    ["two values where one is allowed", [built(ship, "1984"), built(ship, "1985")], ship, "built"],
  ] as const)("find %s", ([, facts, offender, property]) =>
    Effect.gen(function* () {
      const { found } = yield* checked(facts)
      expect(found.offenders).toEqual(new Set([iri(offender)]))
      expect(found.violations).toBe(1)
      const [violation] = found.listed
      expect(violation?.sources.map(({ quote }) => quote).sort()).toEqual(facts.map(({ quote }) => quote).sort())
      if (property === "built") expect(violation?.property).toBe(base + property)
    }),
  )

  it.effect("find an entity of two classes that exclude each other", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
      const shapes = yield* readShapes(derivedShapes(index), "shapes.ttl")
      const found = yield* validate(
        { added: Stream.make(`<urn:x> ${type} <${base}Ferry> .`, `<urn:x> ${type} <${base}Port> .`) },
        shapes,
        index,
      )
      expect(found.offenders).toEqual(new Set(["urn:x"]))
    }),
  )
})

describe("given shapes", () => {
  const prefix = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <${base}> .`

  it.effect("of lesser severity are warnings, and make no offenders", () =>
    Effect.gen(function* () {
      const { found } = yield* checked(
        [between(ship, "sailsTo", port)],
        `${prefix} :S a sh:NodeShape ; sh:targetClass :Ship ; sh:property [ sh:path :built ; sh:minCount 1 ; sh:severity sh:Warning ; sh:message "no year" ] .`,
      )
      expect(found).toMatchObject({ violations: 0, warnings: 1, offenders: new Set() })
      expect(found.listed[0]).toMatchObject({ message: "no year", severity: "Warning" })
    }),
  )

  it.effect("that find warnings first list the violation before them", () =>
    Effect.gen(function* () {
      const { found } = yield* checked(
        [between(mention("Ship", "Alba"), "sailsTo", port), built(ship, "1984"), built(ship, "1985")],
        `${prefix} :W a sh:NodeShape ; sh:targetClass :Ship, :Port ; sh:property [ sh:path :depth ; sh:minCount 1 ; sh:severity sh:Warning ] .
         :S a sh:NodeShape ; sh:targetClass :Ship ; sh:property [ sh:path :built ; sh:maxCount 1 ] .`,
      )
      expect(found.listed.map(({ severity }) => severity)).toEqual(["Violation", "Warning", "Warning", "Warning"])
    }),
  )

  it.effect("that look further than one node see the whole graph", () =>
    Effect.gen(function* () {
      const { found, shapes } = yield* checked(
        [between(ship, "sailsTo", port)],
        `${prefix} :S a sh:NodeShape ; sh:targetClass :Port ; sh:property [ sh:path [ sh:inversePath :sailsTo ] ; sh:minCount 2 ] .`,
      )
      expect(shapes.local).toBe(false)
      expect(found.offenders).toEqual(new Set([iri(port)]))
    }),
  )

  it.effect.each([
    ["do not parse", "@prefix sh: <", "RdfSyntaxError"],
    ["target nothing", `${prefix} :S a sh:NodeShape .`, "ShapesRefused"],
    ["ask in SPARQL", `${prefix} :S a sh:NodeShape ; sh:targetClass :Ship ; sh:sparql [ sh:select "x" ] .`, "ShapesRefused"],
    ["bring constraints of their own", `${prefix} :S sh:targetClass :Ship . :C sh:validator [ sh:ask "ASK {}" ] .`, "ShapesRefused"],
    ["misspell a constraint", `${prefix} :S sh:targetClass :Ship ; sh:property [ sh:path :built ; sh:maxcount 1 ] .`, "ShapesRefused"],
    ["import others", `${prefix} <urn:s> <http://www.w3.org/2002/07/owl#imports> <urn:t> . :S sh:targetClass :Ship .`, "ShapesRefused"],
  ] as const)("are refused when they %s", ([, text, tag]) =>
    Effect.gen(function* () {
      expect((yield* Effect.flip(readShapes(text, "shapes.ttl")))._tag).toBe(tag)
    }),
  )

  it.effect("find what a property without values lacks", () =>
    Effect.gen(function* () {
      const { found } = yield* checked(
        [between(ship, "sailsTo", port)],
        `${prefix} :S a sh:NodeShape ; sh:targetClass :Ship ; sh:property [ sh:path :built ; sh:hasValue <urn:year> ] .`,
      )
      expect(found.offenders).toEqual(new Set([iri(ship)]))
    }),
  )

  it.effect("judge nodes that are named by them, though nothing is said of these", () =>
    Effect.gen(function* () {
      const { found, shapes } = yield* checked(
        [between(ship, "sailsTo", port)],
        `${prefix} :S a sh:NodeShape ; sh:targetNode <urn:harbour>, "text" ; sh:class :Port .`,
      )
      expect(shapes.local).toBe(true)
      expect(found.offenders).toEqual(new Set(["urn:harbour", "text"]))
    }),
  )

  it.effect("see every node that fails, however many point to the same one", () =>
    Effect.gen(function* () {
      const ships = Array.from({ length: 120 }, (_, number) => mention("Ship", `Ship ${number}`))
      const { found } = yield* checked(
        ships.map((one) => between(one, "sailsTo", port)),
        `${prefix} :S a sh:NodeShape ; sh:targetClass :Ship ; sh:property [ sh:path :sailsTo ; sh:node [ sh:property [ sh:path :depth ; sh:minCount 1 ] ] ] .`,
      )
      expect(found.offenders.size).toBe(120)
    }),
  )

  it.live("leave the thread to others while a large graph is checked", () =>
    Effect.gen(function* () {
      const ships = Array.from({ length: 1000 }, (_, number) => mention("Ship", `Ship ${number}`))
      let turns = 0
      const turning = setInterval(() => turns++, 0)
      const { found, shapes } = yield* checked(
        ships.map((one) => between(one, "sailsTo", port)),
        `${prefix} :S a sh:NodeShape ; sh:targetClass :Ship ; sh:property [ sh:path ( :sailsTo :depth ) ; sh:minCount 1 ] .`,
      )
      clearInterval(turning)
      expect(shapes.local).toBe(false)
      expect(found.violations).toBe(1000)
      expect(turns).toBeGreaterThan(10)
    }),
  )

  it.effect("are not led astray by classes that are below each other", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const [type, below] = ["<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>", "<http://www.w3.org/2000/01/rdf-schema#subClassOf>"]
      const shapes = yield* readShapes(
        `${prefix} :S a sh:NodeShape ; sh:targetClass <urn:A> ; sh:class <urn:B>, :Port ; sh:minLength 1 .`,
        "shapes.ttl",
      )
      const added = Stream.make(`<urn:A> ${below} <urn:B> .`, `<urn:B> ${below} <urn:A> .`, `<urn:x> ${type} <urn:B> .`)
      const found = yield* validate({ added }, shapes, index)
      expect(found.listed.map(({ focus, component }) => [focus, component])).toEqual([
        ["urn:x", "http://www.w3.org/ns/shacl#ClassConstraintComponent"],
      ])
    }),
  )
})

it.effect("thousands of nodes in pieces give what the whole gives", () =>
  Effect.gen(function* () {
    const facts = Array.from({ length: 5000 }, (_, number) => {
      const one = mention("Ferry", `Ferry ${number}`)
      return number % 1000 === 7
        ? [built(one, "1984"), built(one, "1985")]
        : [between(one, "sailsTo", mention("Port", `Port ${(number * 7) % 5000}`))]
    }).flat()
    const { found } = yield* checked(facts)
    expect(found.violations).toBe(5)
    expect(found.offenders).toEqual(new Set([7, 1007, 2007, 3007, 4007].map((number) => iri(mention("Ferry", `Ferry ${number}`)))))
  }),
)
