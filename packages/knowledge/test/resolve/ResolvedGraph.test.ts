import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Fact, Mention } from "../../src/fact/Fact.ts"
import { factTriples } from "../../src/fact/FactGraph.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { sortLines } from "../../src/rdf/LineSort.ts"
import { writeNTriples } from "../../src/rdf/Turtle.ts"
import { resolveGraphs } from "../../src/resolve/ResolvedGraph.ts"
import { DocumentId, RunId } from "../../src/storage/Identity.ts"

const base = "https://example.org/sea#"
const ontologyText = `
@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:Captain a owl:Class . :Ship a owl:Class . :commands a owl:ObjectProperty . :licence a owl:DatatypeProperty, owl:InverseFunctionalProperty .
:birthYear a owl:DatatypeProperty . :rank a owl:DatatypeProperty, owl:FunctionalProperty .
`
const mention = (type: string, text: string): Mention => ({ type: base + type, text, span: { start: 0, end: text.length }, confidence: 1 })
const commands = (captain: string, ship: string): Fact => ({
  subject: mention("Captain", captain),
  property: `${base}commands`,
  object: { _tag: "Entity", mention: mention("Ship", ship) },
  quote: `${captain} commands the ${ship}`,
  span: { start: 0, end: 20 },
  confidence: 0.9,
})

const graphOf = (number: number, facts: ReadonlyArray<Fact>) => {
  const source = {
    documentId: DocumentId.make(`doc-00000000000${number}`),
    runId: RunId.make("00000000-0000-8000-a000-000000000001"),
    extractor: "test",
  }
  return Effect.map(Stream.mkString(writeNTriples(Stream.fromIterable(factTriples(facts, source)))), (text) =>
    Stream.fromIterable(text.split("\n").filter((line) => line !== "")),
  )
}

const resolved = (existing: ReadonlyArray<string>, ...documents: ReadonlyArray<ReadonlyArray<Fact>>) =>
  Effect.gen(function* () {
    const graphs = yield* Effect.forEach(documents, (facts, index) => Effect.orDie(graphOf(index + 1, facts)))
    const ontology = yield* Effect.orDie(loadOntology({ name: "sea.ttl", text: ontologyText }))
    const graph = yield* resolveGraphs({
      documents: Stream.fromIterable(graphs),
      existing: Stream.fromIterable(existing),
      ontology,
      base: "https://example.org/id/",
    })
    return { ...graph, sorted: yield* Stream.runCollect(sortLines(graph.lines)) }
  })

const factsIn = (lines: ReadonlyArray<string>) =>
  lines.filter((line) => line.includes(`<${base}commands> <`) && !line.includes("predicate"))

it.effect("the same fact under two names is one fact with two witnesses", () =>
  Effect.gen(function* () {
    const { sorted, mentions, entities } = yield* resolved([], [commands("Maria Lopez", "Orion")], [commands("Lopez, Maria", "ORION")])
    expect(factsIn(sorted)).toHaveLength(1)
    expect([mentions, entities]).toEqual([4, 2])
    expect(sorted.filter((line) => line.includes("owl#sameAs"))).toHaveLength(4)
    expect(sorted.filter((line) => line.includes(`${base}commands> .`))).toHaveLength(2)
    expect(sorted.filter((line) => line.startsWith("<urn:detent:entity:"))).toEqual([])
  }),
)

const says = (captain: string, property: string, lexical: string): Fact => ({
  subject: mention("Captain", captain),
  property: `${base}${property}`,
  object: { _tag: "Value", text: lexical, span: { start: 0, end: 20 }, lexical, datatype: "http://www.w3.org/2001/XMLSchema#string" },
  quote: `${captain}: ${lexical}`,
  span: { start: 0, end: 20 },
  confidence: 0.9,
})

it.effect("namesakes with different years of birth, or values of a functional property, are two entities with two IRIs", () =>
  Effect.gen(function* () {
    for (const [property, one, other] of [
      ["birthYear", "1744", "1915"],
      ["rank", "major", "admiral"],
    ] as const) {
      const { sorted, entities } = yield* resolved([], [says("Ada Sol", property, one)], [says("Ada Sol", property, other)])
      expect(entities).toBe(2)
      expect(new Set(sorted.filter((line) => line.includes(`<${base}${property}> "`)).map((line) => line.split(" ")[0])).size).toBe(2)
      const later = yield* resolved(sorted, [says("ADA SOL", property, other)])
      expect(later.sorted.filter((line) => line.includes(`<${base}${property}> "`)).map((line) => line.split(" ")[0])).toEqual(
        sorted.filter((line) => line.includes(`<${base}${property}> "${other}"`)).map((line) => line.split(" ")[0]),
      )
    }
  }),
)

it.effect("entities of the graph as it is keep their IRI, also after a later batch", () =>
  Effect.gen(function* () {
    const first = yield* resolved([], [commands("Maria Lopez", "Orion")])
    const second = yield* resolved(first.sorted, [commands("Dr. Maria López", "Vega")])
    const captain = (lines: ReadonlyArray<string>) => factsIn(lines)[0]?.split(" ")[0]
    expect(captain(second.sorted)).toBe(captain(first.sorted))
    expect(captain(first.sorted)).toMatch(/^<https:\/\/example\.org\/id\/[0-9a-f]{20}>$/)
  }),
)

it.effect("namesakes of two classes have two IRIs, in one document and in two, which renaming a class does not change", () =>
  Effect.gen(function* () {
    const subjects = (sorted: ReadonlyArray<string>, label: string) =>
      sorted.flatMap((line) => (line.includes(`label> "${label}"`) ? [line.split(" ")[0]] : []))
    const both = yield* resolved([], [commands("Vega", "Vega")])
    expect(new Set(subjects(both.sorted, "Vega")).size).toBe(2)
    const apart = yield* resolved([], [commands("Vega", "Orion")], [commands("Maria Lopez", "Vega")])
    const [one, other] = subjects(apart.sorted, "Vega")
    expect(one).not.toBe(other)
    const renamed = (fact: Fact): Fact => ({ ...fact, subject: { ...fact.subject, type: `${base}Skipper` } })
    const skippers = yield* resolved([], [renamed(commands("Vega", "Orion"))], [renamed(commands("Maria Lopez", "Vega"))])
    for (const name of ["Vega", "Orion", "Maria Lopez"]) expect(subjects(skippers.sorted, name)).toEqual(subjects(apart.sorted, name))
  }),
)
