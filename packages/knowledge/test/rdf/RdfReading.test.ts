import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { lineOf } from "../../src/rdf/NTriples.ts"
import { readNTriples, readTurtle } from "../../src/rdf/RdfReading.ts"
import { writeNTriples, writeTurtle } from "../../src/rdf/RdfWriting.ts"

const lines = (read: typeof readTurtle, text: string) =>
  Effect.map(Stream.runCollect(read(Stream.succeed(text), "test.nt")), (triples) => triples.map(lineOf))

describe("N-Triples", () => {
  it.effect.each([
    ["a prefix", "@prefix : <urn:> ."],
    ["a base", "@base <urn:> ."],
    ["a relative subject", "<s> <urn:p> <urn:o> ."],
    ["a relative predicate", "<urn:s> <p> <urn:o> ."],
    ["a relative object", "<urn:s> <urn:p> <o> ."],
    ["a relative datatype", '<urn:s> <urn:p> "1"^^<d> .'],
    ["a list of objects", "<urn:s> <urn:p> <urn:o>, <urn:q> ."],
    ["a list of predicates", "<urn:s> <urn:p> <urn:o> ; <urn:q> <urn:r> ."],
    ["an integer without quotes", "<urn:s> <urn:p> 1 ."],
    ["a decimal without quotes", "<urn:s> <urn:p> 1.0 ."],
    ["a double without quotes", "<urn:s> <urn:p> 1.0e0 ."],
    ["a boolean without quotes", "<urn:s> <urn:p> true ."],
    ["a long text", '<urn:s> <urn:p> """o""" .'],
    ["a text in single quotes", "<urn:s> <urn:p> 'o' ."],
    ["the word a", "<urn:s> a <urn:o> ."],
    ["a blank node in brackets", "[] <urn:p> <urn:o> ."],
    ["a collection", "<urn:s> <urn:p> () ."],
  ] as const)("refuse %s, which Turtle allows", ([, text]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(lines(readNTriples, text))
      assert.strictEqual(error._tag, "RdfSyntaxError")
      assert.match(error.message, /^test\.nt.*: no valid N-Triples: /)
      const turtle = yield* Effect.result(lines(readTurtle, text))
      assert.strictEqual(turtle._tag, "Success")
    }),
  )

  it.effect("are read with comments, empty lines, escapes and tabs between terms", () =>
    Effect.gen(function* () {
      const text = `# first\n\n<urn:s>\t<urn:p>\t"a\\tb\\u00e9\\U0001F600" . # last\n_:b1 <urn:p> "x"@de-AT .\n`
      assert.deepStrictEqual(yield* lines(readNTriples, text), ['<urn:s> <urn:p> "a\\tbé😀" .', '_:b1 <urn:p> "x"@de-at .'])
    }),
  )

  it.effect("of an ontology are read as such", () =>
    Effect.gen(function* () {
      const declared = "<urn:A> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Class> ."
      assert.isTrue((yield* loadOntology({ name: "a.nt", text: declared })).classes.has("urn:A"))
      const error = yield* Effect.flip(loadOntology({ name: "a.nt", text: "@prefix : <urn:> . :A a :B ." }))
      assert.match(error.message, /no valid N-Triples/)
    }),
  )
})

describe("labels of blank nodes", () => {
  it.effect.each(["ü", "数据", "a.b", "𝒳1", "a·b", "_x"])("outside ASCII too are written as they are read: %s", (label) =>
    Effect.gen(function* () {
      const text = `_:${label} <urn:p> _:${label} .\n`
      const triples = yield* Stream.runCollect(readNTriples(Stream.succeed(text), "test.nt"))
      assert.strictEqual(yield* Stream.mkString(writeNTriples(Stream.fromIterable(triples))), text)
      const turtle = yield* Stream.mkString(writeTurtle(Stream.fromIterable(triples)))
      assert.deepStrictEqual(yield* lines(readTurtle, turtle), [text.trimEnd()])
    }),
  )
})
