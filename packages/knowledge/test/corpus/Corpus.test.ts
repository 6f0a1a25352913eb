import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ManifestFileJson } from "../../src/batch/Manifest.ts"
import { readDocument } from "../../src/document/DocumentReader.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { readTurtle } from "../../src/rdf/Turtle.ts"

const corpus = join(import.meta.dirname, "../../corpus")
const textOf = (name: string) => readFileSync(join(corpus, name), "utf8")

const Triple = { sub: Schema.String, rel: Schema.String, obj: Schema.String }
const linesOf = <A>(name: string, schema: Schema.Codec<A, unknown>): ReadonlyArray<A> => {
  const decode = Schema.decodeUnknownSync(Schema.fromJsonString(schema))
  return textOf(name)
    .trimEnd()
    .split("\n")
    .map((line) => decode(line))
}

const expected = linesOf("expected.jsonl", Schema.Struct({ document: Schema.String, ...Triple }))
const examples = linesOf(
  "examples.jsonl",
  Schema.Struct({ id: Schema.String, sent: Schema.String, triples: Schema.Array(Schema.Struct(Triple)) }),
)
const documents = readdirSync(join(corpus, "documents")).sort()

const ontology = loadOntology({ name: "ontology.ttl", text: textOf("ontology.ttl") })
const read = (name: string) =>
  Effect.map(readDocument({ name }, readFileSync(join(corpus, "documents", name))), ({ text }) => text.replace(/\s+/gu, " "))

/** A date stands in the text in another form, but its year does stand there. */
const wordsOf = (value: string): string => (/^\d{4}-\d{2}-\d{2}$/.test(value) ? value.slice(0, 4) : value)

describe("the sample corpus", () => {
  it("is a manifest of all its documents", () => {
    const manifest = Schema.decodeUnknownSync(ManifestFileJson)(textOf("manifest.json"))
    assert.deepStrictEqual(
      manifest.documents.map(({ source }) => source),
      documents.map((name) => `documents/${name}`),
    )
    for (const name of [manifest.ontology, manifest.shapes, manifest.examples]) assert.isTrue(statSync(join(corpus, String(name))).isFile())
    assert.deepStrictEqual(new Set(documents.map((name) => name.split(".").at(-1))), new Set(["txt", "md", "html", "json", "csv", "pdf"]))
    assert.isAtLeast(documents.length, 30)
  })

  it.effect("states every expected fact in words that are there, with properties of the ontology", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const texts = new Map(yield* Effect.forEach(documents, (name) => Effect.map(read(name), (text) => [name, text] as const)))
      for (const fact of expected) {
        const text = texts.get(fact.document) ?? ""
        assert.include(text, fact.sub, fact.document)
        assert.include(text, wordsOf(fact.obj), fact.document)
        assert.strictEqual(index.withLabel(fact.rel).properties.length, 1, fact.rel)
      }
      assert.deepStrictEqual([...new Set(expected.map(({ document }) => document))].sort(), documents)
      assert.strictEqual(new Set(expected.map((fact) => JSON.stringify(fact))).size, expected.length)
    }),
  )

  it.effect("uses every property of its ontology", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const used = new Set(expected.map(({ rel }) => index.withLabel(rel).properties[0]))
      assert.deepStrictEqual([...used].sort(), [...index.properties.keys()].sort())
      assert.deepStrictEqual(index.ontology.notes, [])
    }),
  )

  it.effect("has examples that say what they are said to, and nothing of the documents", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const everything = (yield* Effect.forEach(documents, read)).join(" ")
      for (const { sent, triples } of examples) {
        for (const { sub, rel, obj } of triples) {
          assert.include(sent, sub)
          assert.include(sent, wordsOf(obj))
          assert.strictEqual(index.withLabel(rel).properties.length, 1, rel)
          assert.notInclude(everything, sub)
        }
      }
      assert.isAtLeast(examples.length, 25)
    }),
  )

  it.effect("has shapes that speak of its ontology", () =>
    Effect.gen(function* () {
      const index = yield* ontology
      const triples = yield* Stream.runCollect(readTurtle(Stream.succeed(textOf("shapes.ttl")), "shapes.ttl"))
      const named = (predicate: string) =>
        triples.filter((triple) => triple.predicate.value === `http://www.w3.org/ns/shacl#${predicate}`).map(({ object }) => object.value)
      for (const path of named("path")) assert.isTrue(index.properties.has(path), path)
      for (const target of [...named("targetClass"), ...named("class")]) assert.isTrue(index.classes.has(target), target)
      assert.isAtLeast(named("path").length, 15)
    }),
  )

  it("is small", () => {
    const sizes = readdirSync(corpus, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).size)
    assert.isBelow(
      sizes.reduce((sum, size) => sum + size, 0),
      200_000,
    )
  })
})
