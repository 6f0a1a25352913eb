import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { loadOnWorker } from "../../src/ontology/OntologyLoading.ts"
import { WorkerPool } from "../../src/threads/WorkerPool.ts"

const load = (name: string, text: string) =>
  Effect.provide(loadOnWorker({ name, text }), WorkerPool.layer({ size: 1, limits: { ontology: { time: "15 seconds", memory: 800 } } }))

const prefixes =
  "@prefix : <urn:x#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
const classes = (count: number, parentOf: (at: number) => number) =>
  prefixes + Array.from({ length: count }, (_, at) => `:C${at} a owl:Class ; rdfs:subClassOf :C${parentOf(at)} .`).join("\n")

describe("an ontology made to take long", () => {
  it.live("as a chain of 10,000 classes is loaded, and its ends are known to each other", () =>
    Effect.gen(function* () {
      const index = yield* load(
        "chain.ttl",
        classes(10_000, (at) => at + 1),
      )
      assert.isTrue(index.isA("urn:x#C0", "urn:x#C9999"))
      assert.strictEqual(index.ancestors("urn:x#C0").size, 10_000)
      assert.strictEqual(index.descendants("urn:x#C10000").size, 10_000)
    }),
  )

  it.live("as a cycle of 10,000 classes is loaded, with one note about the cycle", () =>
    Effect.gen(function* () {
      const index = yield* load(
        "cycle.ttl",
        classes(10_000, (at) => (at + 1) % 10_000),
      )
      assert.strictEqual(index.ontology.notes.filter(({ kind }) => kind === "cycle").length, 1)
    }),
  )

  it.live("by 50,000 nested elements is refused", () =>
    Effect.gen(function* () {
      const depth = 50_000
      const nested = `${"<rdf:Description><rdf:value>".repeat(depth)}${"</rdf:value></rdf:Description>".repeat(depth)}`
      const error = yield* Effect.flip(
        load("deep.rdf", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">${nested}</rdf:RDF>`),
      )
      assert.match(error.message, /deep\.rdf: no valid RDF\/XML: its elements are nested more than 500 deep/)
    }),
  )

  it.live("by entities that multiply is refused or read, within its limits", () =>
    Effect.gen(function* () {
      const entities = Array.from({ length: 12 }, (_, at) =>
        at === 0 ? `<!ENTITY e0 "xxxxxxxxxx">` : `<!ENTITY e${at} "${`&e${at - 1};`.repeat(10)}">`,
      )
      const text = `<?xml version="1.0"?><!DOCTYPE rdf:RDF [${entities.join("")}]><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="urn:a"><rdf:value>&e11;</rdf:value></rdf:Description></rdf:RDF>`
      const error = yield* Effect.flip(load("laughs.rdf", text))
      assert.include(["OntologySyntaxError", "OntologyEmpty", "OntologyLimitExceeded"], error._tag)
    }),
  )

  it.live("by lists and expressions that contain themselves is loaded", () =>
    Effect.gen(function* () {
      const index = yield* load(
        "circles.ttl",
        `${prefixes}@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
        :A a owl:Class ; owl:unionOf _:l . _:l rdf:first _:u ; rdf:rest _:l . _:u owl:unionOf _:l ; owl:intersectionOf _:l .
        :p a owl:ObjectProperty ; rdfs:domain _:u ; rdfs:range [ owl:unionOf _:l ] ; rdfs:subPropertyOf :p ; owl:inverseOf :p .`,
      )
      assert.isTrue(index.classes.has("urn:x#A"))
    }),
  )
})
