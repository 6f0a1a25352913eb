import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { iri, jsonLd, rdfXml, turtle } from "./library.ts"

const prefixes = `@prefix : <https://example.org/x#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix schema: <https://schema.org/> .
`
const load = (body: string) => loadOntology({ name: "x.ttl", text: prefixes + body })
const x = (name: string) => `https://example.org/x#${name}`

describe("an ontology", () => {
  it.effect("means the same in Turtle, RDF/XML and JSON-LD", () =>
    Effect.gen(function* () {
      const sorted = (text: string, name: string) =>
        Effect.map(loadOntology({ name, text }), (index) => {
          const { hash: _, classes, properties, ...rest } = index.toJSON()
          const byIri = (one: { iri: string }, other: { iri: string }) => (one.iri < other.iri ? -1 : 1)
          return { ...rest, classes: classes.toSorted(byIri), properties: properties.toSorted(byIri) }
        })
      const fromTurtle = yield* sorted(turtle, "library.ttl")
      assert.deepStrictEqual(yield* sorted(rdfXml, "library.rdf"), fromTurtle)
      assert.deepStrictEqual(yield* sorted(jsonLd, "library.jsonld"), fromTurtle)
      assert.strictEqual(fromTurtle.namespace, "https://example.org/library#")
      assert.strictEqual(fromTurtle.title, "Library")
      assert.strictEqual(fromTurtle.versionIri, "https://example.org/library/2")
    }),
  )

  it.effect("is recognised by how it begins when its name does not tell the format", () =>
    Effect.gen(function* () {
      for (const text of [turtle, rdfXml, jsonLd, `\uFEFF${jsonLd}`]) {
        const index = yield* loadOntology({ name: "library", text })
        assert.strictEqual(index.classes.size, 7)
      }
    }),
  )

  it.effect("is known by the hash of its source", () =>
    Effect.gen(function* () {
      const one = yield* loadOntology({ name: "a.ttl", text: turtle })
      const same = yield* loadOntology({ name: "b.ttl", text: turtle })
      const other = yield* loadOntology({ name: "a.ttl", text: `${turtle}\n` })
      assert.match(one.hash, /^[0-9a-f]{64}$/)
      assert.strictEqual(same.hash, one.hash)
      assert.notStrictEqual(other.hash, one.hash)
    }),
  )

  it.effect("keeps labels in all languages and shows the one asked for", () =>
    Effect.gen(function* () {
      const index = yield* loadOntology({ name: "library.ttl", text: turtle })
      assert.strictEqual(index.label(iri("Person")), "person")
      assert.strictEqual(index.label(iri("Person"), "de"), "Person")
      assert.strictEqual(index.label(iri("Person"), "fr"), "person")
      assert.deepStrictEqual(index.names(iri("Person")), ["person", "Person", "human being"])
      assert.strictEqual(index.classes.get(iri("Work"))?.comments[0]?.text, "Something written.")
    }),
  )

  it.effect("names a term without a label by the words of its IRI", () =>
    Effect.gen(function* () {
      const index = yield* load(":hasHeadOffice a owl:ObjectProperty . :HTTPServer a owl:Class . :snake_case a owl:Class .")
      assert.strictEqual(index.label(x("hasHeadOffice")), "has head office")
      assert.strictEqual(index.label(x("HTTPServer")), "HTTP server")
      assert.strictEqual(index.label(x("snake_case")), "snake case")
    }),
  )

  it.effect("in plain RDFS has classes and properties too", () =>
    Effect.gen(function* () {
      const index = yield* load(`:Dog a rdfs:Class ; rdfs:subClassOf :Animal . :Animal a rdfs:Class .
        :owner a rdf:Property ; rdfs:domain :Animal ; rdfs:range :Person . :age a rdf:Property ; rdfs:range xsd:integer . :note a rdf:Property .`)
      assert.isTrue(index.isA(x("Dog"), x("Animal")))
      assert.strictEqual(index.properties.get(x("owner"))?.kind, "object")
      assert.strictEqual(index.properties.get(x("age"))?.kind, "datatype")
      assert.strictEqual(index.properties.get(x("note"))?.kind, "any")
      assert.deepStrictEqual(index.ontology.notes, [
        { kind: "undeclared", subject: x("Person"), detail: "used as a class but not declared as one" },
      ])
    }),
  )

  it.effect("understands restrictions, also those in a definition", () =>
    Effect.gen(function* () {
      const index = yield* load(`:Team a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( :Group
          [ a owl:Restriction ; owl:onProperty :member ; owl:minQualifiedCardinality 2 ; owl:onClass :Person ]
          [ a owl:Restriction ; owl:onProperty :member ; owl:allValuesFrom [ owl:unionOf (:Person :Robot) ] ]
          [ a owl:Restriction ; owl:onProperty :sport ; owl:hasValue :Chess ] ) ] .
        :Group a owl:Class . :Person a owl:Class . :Robot a owl:Class .
        :member a owl:ObjectProperty . :sport a owl:ObjectProperty .
        :YouthTeam a owl:Class ; rdfs:subClassOf :Team, [ a owl:Restriction ; owl:onProperty :coach ; owl:cardinality 1 ] . :coach a owl:ObjectProperty .`)
      assert.isTrue(index.isA(x("Team"), x("Group")))
      assert.deepStrictEqual(index.restrictionsOf(x("YouthTeam")), [
        { property: x("coach"), kind: "exactly", fillers: [], count: 1 },
        { property: x("member"), kind: "min", fillers: [x("Person")], count: 2 },
        { property: x("member"), kind: "all", fillers: [x("Person"), x("Robot")] },
        { property: x("sport"), kind: "value", fillers: [], value: x("Chess") },
      ])
    }),
  )

  it.effect("understands unions as superclasses, and disjointness in groups", () =>
    Effect.gen(function* () {
      const index = yield* load(`:Vehicle a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:unionOf (:Car :Boat) ] .
        :Car a owl:Class . :Boat a owl:Class . :Amphibian a owl:Class ; rdfs:subClassOf :Boat . :Tree a owl:Class .
        [] a owl:AllDisjointClasses ; owl:members (:Vehicle :Tree :Stone) . :Stone a owl:Class .
        :Pet a owl:Class ; owl:disjointUnionOf (:Cat :Dog) .`)
      assert.isTrue(index.isA(x("Amphibian"), x("Vehicle")))
      assert.isTrue(index.areDisjoint(x("Amphibian"), x("Tree")))
      assert.isTrue(index.areDisjoint(x("Stone"), x("Car")))
      assert.isFalse(index.areDisjoint(x("Car"), x("Boat")))
      assert.isTrue(index.areDisjoint(x("Cat"), x("Dog")))
      assert.isTrue(index.isA(x("Cat"), x("Pet")))
    }),
  )

  it.effect("takes several domains together, and schema.org's each by itself", () =>
    Effect.gen(function* () {
      const index = yield* load(`:Flying a owl:Class . :Animal a owl:Class . :Bird a owl:Class ; rdfs:subClassOf :Flying, :Animal .
        :nests a owl:ObjectProperty ; rdfs:domain :Flying, :Animal .
        :seen a rdf:Property ; schema:domainIncludes :Flying, :Animal ; schema:rangeIncludes xsd:date .`)
      assert.isTrue(index.acceptsSubject(x("nests"), x("Bird")))
      assert.isFalse(index.acceptsSubject(x("nests"), x("Animal")))
      assert.isTrue(index.acceptsSubject(x("seen"), x("Animal")))
      assert.strictEqual(index.properties.get(x("seen"))?.kind, "datatype")
    }),
  )

  it.effect("with a cycle is read, tells of it, and takes its members for the same", () =>
    Effect.gen(function* () {
      const index =
        yield* load(`:A a owl:Class ; rdfs:subClassOf :B . :B a owl:Class ; rdfs:subClassOf :C . :C a owl:Class ; rdfs:subClassOf :A .
        :D a owl:Class ; rdfs:subClassOf :A, :D . :p a owl:ObjectProperty ; rdfs:subPropertyOf :q . :q a owl:ObjectProperty ; rdfs:subPropertyOf :p .`)
      assert.deepStrictEqual([...index.ancestors(x("A"))].sort(), [x("B"), x("C")])
      assert.isTrue(index.isA(x("D"), x("C")))
      const cycles = index.ontology.notes.filter(({ kind }) => kind === "cycle")
      assert.deepStrictEqual(
        cycles.map(({ subject }) => subject),
        [x("A"), x("p")],
      )
      assert.match(cycles[0]?.detail ?? "", /subclass of itself through .*#B, .*#C; they are taken to be the same class/)
    }),
  )

  it.effect("does not fetch what it imports, and says so", () =>
    Effect.gen(function* () {
      const index = yield* load("<https://example.org/x> a owl:Ontology ; owl:imports <https://example.org/other> . :A a owl:Class .")
      assert.deepStrictEqual(
        index.ontology.notes.map(({ kind, subject }) => [kind, subject]),
        [["import", "https://example.org/other"]],
      )
    }),
  )

  it.effect("resolves relative IRIs against the base that is given", () =>
    Effect.gen(function* () {
      const index = yield* loadOntology({
        name: "a.ttl",
        text: "@prefix owl: <http://www.w3.org/2002/07/owl#> . <#A> a owl:Class .",
        base: "https://example.org/here",
      })
      assert.isTrue(index.classes.has("https://example.org/here#A"))
    }),
  )
})

describe("a file that is not an ontology", () => {
  const failure = (name: string, text: string) => Effect.map(Effect.flip(loadOntology({ name, text })), (error) => error.message)

  it.effect("in Turtle is refused with the line", () =>
    Effect.map(failure("a.ttl", "@prefix : <https://example.org/> .\n:a :b :c .\n:a :b ] .\n"), (message) =>
      assert.match(message, /^a\.ttl, line 3: no valid Turtle: /),
    ),
  )

  it.effect("in RDF/XML is refused with the line", () =>
    Effect.gen(function* () {
      const broken = rdfXml.replace("</owl:DatatypeProperty>", "</owl:Other>")
      const line = broken.split("\n").findIndex((one) => one.includes("</owl:Other>")) + 1
      assert.match(yield* failure("a.rdf", broken), new RegExp(`^a\\.rdf, line ${line}: no valid RDF/XML: `))
    }),
  )

  it.effect("in JSON-LD is refused with the line", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* failure("a.jsonld", '{\n  "@id": "a",\n  "@type": b\n}'),
        'a.jsonld, line 3: no valid JSON-LD: expected a value but found "b"; correct the file, or name its format if it is another one',
      )
      assert.match(yield* failure("a.jsonld", '{"@context": "https://schema.org", "@id": "a"}'), /https:\/\/schema.org is not fetched/)
    }),
  )

  it.effect("is refused when it declares nothing", () =>
    Effect.gen(function* () {
      assert.match(yield* failure("a.ttl", ""), /^a\.ttl: no statements, but no class and no property/)
      assert.match(yield* failure("a.ttl", "<https://a.example/s> <https://a.example/p> 1 ."), /1 statements, but no class/)
    }),
  )
})
