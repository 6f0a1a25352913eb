import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { nodesOfLines } from "../../src/graph/LineNodes.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { derivedShapes } from "../../src/validate/DerivedShapes.ts"
import { plainConformity } from "../../src/validate/PlainConformity.ts"
import { readShapes, type Shapes } from "../../src/validate/Shapes.ts"
import { validate, validateByLibrary } from "../../src/validate/Validation.ts"

const base = "https://example.org/sea#"
const type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
const ontology = loadOntology({
  name: "sea.ttl",
  text: `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:Ship a owl:Class ; owl:disjointWith :Port ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :name ; owl:minCardinality 1 ] .
:Ferry a owl:Class ; rdfs:subClassOf :Ship . :Port a owl:Class . :Person a owl:Class .
:sailsTo a owl:ObjectProperty ; rdfs:domain :Ship ; rdfs:range :Port .
:owner a owl:ObjectProperty ; rdfs:domain [ owl:unionOf (:Ship :Port) ] ; rdfs:range [ owl:unionOf (:Person :Ship) ] .
:built a owl:DatatypeProperty, owl:FunctionalProperty ; rdfs:domain :Ship ; rdfs:range xsd:gYear .
:name a owl:DatatypeProperty ; rdfs:range xsd:string .
:length a owl:DatatypeProperty ; rdfs:range xsd:decimal .
`,
})

const given = `
@prefix : <${base}> . @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:ShipShape a sh:NodeShape ; sh:targetClass :Ship ; sh:not [ sh:class :Port ] ;
  sh:property [ sh:path :name ; sh:minCount 1 ; sh:maxCount 2 ; sh:minLength 2 ; sh:severity sh:Warning ] ;
  sh:property [ sh:path :sailsTo ; sh:class :Port ; sh:nodeKind sh:IRI ] .
:OwnerShape a sh:NodeShape ; sh:targetSubjectsOf :owner ; sh:or ( [ sh:class :Ship ] [ sh:property [ sh:path :name ; sh:minCount 1 ] ] ) .
:One a sh:NodeShape ; sh:targetNode <urn:node:0> ; sh:property [ sh:path :length ; sh:datatype xsd:decimal ; sh:minInclusive 10 ] .
:Old a sh:NodeShape ; sh:targetClass :Port ; sh:deactivated true ; sh:class :Ship .
`

const nodes = Schema.Array(
  Schema.Struct({
    types: Schema.Array(Schema.Literals(["Ship", "Ferry", "Port", "Person", "Unheard"])).check(Schema.isMaxLength(2)),
    values: Schema.Array(
      Schema.Struct({
        property: Schema.Literals(["sailsTo", "owner", "built", "name", "length", "other"]),
        value: Schema.Literals([
          "<urn:node:0>",
          "<urn:node:1>",
          "<urn:node:2>",
          "<urn:nowhere>",
          '"1984"^^<http://www.w3.org/2001/XMLSchema#gYear>',
          '"MCM"^^<http://www.w3.org/2001/XMLSchema#gYear>',
          '"12.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
          '"+1."^^<http://www.w3.org/2001/XMLSchema#decimal>',
          '"Orion"',
          '"O"',
          '"Orion"@en',
        ]),
      }),
    ).check(Schema.isMaxLength(4)),
  }),
).check(Schema.isMaxLength(5))

const linesOf = (some: typeof nodes.Type): ReadonlyArray<string> => {
  const lines = some.flatMap(({ types, values }, number) => [
    ...types.map((one) => `<urn:node:${number}> ${type} <${base}${one}> .`),
    ...values.map(({ property, value }) => `<urn:node:${number}> <${base}${property}> ${value} .`),
  ])
  return [...new Set(lines)].sort()
}

const index = await Effect.runPromise(ontology)
const derived = await Effect.runPromise(readShapes(derivedShapes(index), "the ontology"))
const byHand = await Effect.runPromise(readShapes(given, "shapes.ttl"))

const agreeing = (some: typeof nodes.Type, shapes: Shapes) =>
  Effect.gen(function* () {
    const lines = Stream.fromIterable(linesOf(some))
    expect(shapes.local).toBe(true)
    expect(yield* validate(lines, shapes, index)).toEqual(yield* validateByLibrary(lines, shapes, index))
  })

describe("what is found when most nodes are passed at a glance", () => {
  it.effect.prop("is what the library finds, with shapes derived from the ontology", [nodes], ([some]) => agreeing(some, derived), {
    arbitrary: { runs: 40 },
    timeout: 60_000,
  })

  it.effect.prop("is what the library finds, with given shapes", [nodes], ([some]) => agreeing(some, byHand), {
    arbitrary: { runs: 40 },
    timeout: 60_000,
  })
})

describe("at a glance", () => {
  it.effect("pass nodes that fit, and only those", () =>
    Effect.gen(function* () {
      const year = "<http://www.w3.org/2001/XMLSchema#gYear>"
      const lines = [
        `<urn:a> ${type} <${base}Ferry> .`,
        `<urn:a> <${base}name> "Marit" .`,
        `<urn:a> <${base}built> "1984"^^${year} .`,
        `<urn:a> <${base}sailsTo> <urn:p> .`,
        `<urn:b> ${type} <${base}Ship> .`,
        `<urn:c> ${type} <${base}Ship> .`,
        `<urn:c> <${base}name> "Orion" .`,
        `<urn:c> <${base}built> "1984"^^${year} .`,
        `<urn:c> <${base}built> "1985"^^${year} .`,
        `<urn:p> ${type} <${base}Port> .`,
      ]
      const found = yield* Stream.runCollect(nodesOfLines(Stream.fromIterable(lines)))
      const types = new Map(found.map(({ subject, values }) => [subject, values.get(type) ?? []]))
      const conforms = plainConformity(derived.triples, types, index)
      expect(found.filter(conforms).map(({ subject }) => subject)).toEqual(["<urn:a>", "<urn:p>"])
    }),
  )
})
