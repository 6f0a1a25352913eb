import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Writer } from "n3"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { blankNode, languageLiteral, literal, namedNode, type Triple, triple } from "../../src/rdf/Term.ts"
import { lineOf, readNTriples, readTurtle, type TurtleOptions, turtleText, writeNTriples, writeTurtle } from "../../src/rdf/Turtle.ts"
import { triples } from "./triples.ts"

const prefixes = { ex: "http://example.org/", hash: "https://a.b/c#", xsd: "http://www.w3.org/2001/XMLSchema#" }

const turtle = (triples: Iterable<Triple>, options: TurtleOptions = { prefixes }) =>
  Stream.mkString(writeTurtle(Stream.fromIterable(triples), options))
const lines = (triples: Iterable<Triple>) => Stream.mkString(writeNTriples(Stream.fromIterable(triples)))
const read = (text: string) => Effect.map(Stream.runCollect(readTurtle(Stream.succeed(text), "test")), (triples) => triples.map(lineOf))

const distinct = (triples: ReadonlyArray<Triple>) => [...new Set(triples.map(lineOf))].sort()

const ex = (name: string) => namedNode(`http://example.org/${name}`)

describe("Turtle", () => {
  it.effect("is sorted, grouped and short", () =>
    Effect.gen(function* () {
      const text = yield* turtle([
        triple(ex("b"), "http://example.org/p", literal("2", "http://www.w3.org/2001/XMLSchema#integer")),
        triple(ex("a"), "http://example.org/p", ex("c")),
        triple(ex("a"), "http://example.org/p", literal("Ærø 東京 👩‍🚀")),
        triple(ex("a"), "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", ex("T")),
        triple(ex("a"), "http://example.org/p", ex("c")),
        triple(blankNode("x"), "http://example.org/p", languageLiteral("olá", "pt-BR")),
      ])
      assert.strictEqual(
        text,
        `@prefix ex: <http://example.org/> .
@prefix hash: <https://a.b/c#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

ex:a ex:p "Ærø 東京 👩‍🚀", ex:c ;
  a ex:T .
ex:b ex:p "2"^^xsd:integer .
_:x ex:p "olá"@pt-br .
`,
      )
    }),
  )

  it.effect("of nothing is nothing but its prefixes", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* turtle([], {}), "")
      assert.strictEqual(yield* lines([]), "")
    }),
  )

  it.effect.prop("reads back as the same triples", [triples], ([some]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* read(yield* turtle(some))).sort(), distinct(some))
      assert.deepStrictEqual((yield* read(yield* turtle(some, {}))).sort(), distinct(some))
    }),
  )

  it.effect.prop("is the same bytes in whatever order and however often triples come", [triples, triples], ([some, others]) =>
    Effect.gen(function* () {
      const text = yield* turtle([...some, ...others])
      assert.strictEqual(yield* turtle([...others, ...some, ...others]), text)
      assert.strictEqual(yield* turtle([...others, ...some].reverse(), { prefixes, memory: 2000, width: 2 }), text)
    }),
  )

  it.effect.prop("is read the same however it is cut into pieces", [triples], ([some]) =>
    Effect.gen(function* () {
      const text = yield* turtle(some)
      const pieces = Stream.fromIterable(text.match(/[\s\S]{1,3}/g) ?? [])
      assert.deepStrictEqual((yield* Stream.runCollect(readTurtle(pieces, "test"))).map(lineOf), yield* read(text))
    }),
  )

  it.effect("holds nothing that would end an IRI early or change a term", () =>
    Effect.gen(function* () {
      const hostile = [
        "http://example.org/a> <http://evil/p> <http://evil/o> . <http://x",
        "http://example.org/a\u0000",
        "http://example.org/a b",
        'http://example.org/"',
        "http://example.org/\\u003e",
        "http://example.org/{x}",
        "http://example.org/\ud800",
        "http://example.org/\n",
        "relative/path",
        "",
        "//example.org/a",
      ]
      for (const iri of hostile) {
        const places: ReadonlyArray<Triple> = [
          triple(namedNode(iri), "urn:p", ex("o")),
          triple(ex("s"), iri, ex("o")),
          triple(ex("s"), "urn:p", namedNode(iri)),
          triple(ex("s"), "urn:p", literal("x", iri)),
        ]
        for (const place of places) {
          assert.strictEqual((yield* Effect.flip(turtle([place])))._tag, "InvalidTerm", iri)
          assert.strictEqual((yield* Effect.flip(lines([place])))._tag, "InvalidTerm", iri)
        }
      }
      for (const label of ["", "a b", "a>", "-a", "a.", "a\n", "a/b", "×"]) {
        assert.strictEqual((yield* Effect.flip(turtle([triple(blankNode(label), "urn:p", ex("o"))])))._tag, "InvalidTerm", label)
      }
      for (const language of ["en us", "en\n", "1", "EN", 'en"']) {
        const object = { ...languageLiteral("x", "en"), language }
        assert.strictEqual((yield* Effect.flip(turtle([triple(ex("s"), "urn:p", object)])))._tag, "InvalidTerm", language)
      }
      assert.strictEqual((yield* Effect.flip(turtle([triple(ex("s"), "urn:p", literal("\udc00"))])))._tag, "InvalidTerm")
    }),
  )

  it.effect("does not take an IRI that looks like a short name", () =>
    Effect.gen(function* () {
      const invalid = yield* Effect.flip(turtle([triple(namedNode("ex:a"), "urn:p", literal("x"))]))
      assert.include(invalid.message, "is a prefixed name where an IRI is required: write http://example.org/ for ex:")
    }),
  )

  it.effect("does not take prefixes that would spoil the file", () =>
    Effect.gen(function* () {
      for (const bad of [{ "a b": "urn:x" }, { "a:": "urn:x" }, { a: "urn:x> ." }, { a: "relative" }]) {
        assert.strictEqual((yield* Effect.flip(turtle([], { prefixes: bad as Record<string, string> })))._tag, "InvalidTerm")
      }
    }),
  )

  it.effect("that is broken is reported with its line", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(read("<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b .\n"))
      assert.strictEqual(error.line, 2)
      assert.match(error.message, /^test, line 2: no valid Turtle: .*; correct the file$/)
      assert.strictEqual((yield* Effect.flip(read("<urn:a> <urn:b> <urn:c>")))._tag, "RdfSyntaxError")
    }),
  )
})

describe("N-Triples", () => {
  it.effect.prop("are canonical and read back as the same triples", [triples], ([some]) =>
    Effect.gen(function* () {
      const text = yield* lines(some)
      assert.deepStrictEqual(yield* read(text), text === "" ? [] : text.trimEnd().split("\n"))
      assert.deepStrictEqual((yield* read(text)).sort(), distinct(some))
    }),
  )

  it.prop("are written as the library writes them", [triples], ([some]) => {
    const writer = new Writer({ format: "N-Triples" })
    for (const triple of some)
      assert.strictEqual(
        `${lineOf(triple)}\n`,
        writer.quadToString(triple.subject as never, triple.predicate as never, triple.object as never),
      )
  })
})

const shortNames = { ex: "http://example.org/", x: "urn:x:", xsd: "http://www.w3.org/2001/XMLSchema#", c: "https://a.b/c#" }

it.effect.prop("any graph read back from the text is the same graph", [triples], ([some]) =>
  Effect.gen(function* () {
    const written = yield* Stream.mkString(writeNTriples(Stream.fromIterable(some)))
    const lines = written.split("\n").filter((line) => line !== "")
    const text = turtleText(Stream.fromIterable(lines), shortNames)
    const back = yield* Stream.runCollect(readTurtle(text, "test"))
    expect(back.map(lineOf)).toEqual(lines)
  }),
)

it.effect("groups by subject and shortens", () =>
  Effect.gen(function* () {
    const lines = [
      '<http://example.org/a> <http://example.org/size> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .',
      "<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Ship> .",
      "<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:y:Thing> .",
      '<http://example.org/b.> <http://example.org/says> "x\\"^^<y>" .',
    ]
    expect(yield* Stream.mkString(turtleText(Stream.fromIterable(lines), { ex: shortNames.ex, xsd: shortNames.xsd }))).toBe(
      [
        "@prefix ex: <http://example.org/> .",
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .",
        "",
        'ex:a ex:size "7"^^xsd:integer ;',
        "  a ex:Ship, <urn:y:Thing> .",
        '<http://example.org/b.> ex:says "x\\"^^<y>" .',
        "",
      ].join("\n"),
    )
  }),
)

const linesBy = (read: typeof readTurtle, text: string) =>
  Effect.map(Stream.runCollect(read(Stream.succeed(text), "test.nt")), (triples) => triples.map(lineOf))

describe("N-Triples that are read", () => {
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
      const error = yield* Effect.flip(linesBy(readNTriples, text))
      assert.strictEqual(error._tag, "RdfSyntaxError")
      assert.match(error.message, /^test\.nt.*: no valid N-Triples: /)
      const turtle = yield* Effect.result(linesBy(readTurtle, text))
      assert.strictEqual(turtle._tag, "Success")
    }),
  )

  it.effect("are read with comments, empty lines, escapes and tabs between terms", () =>
    Effect.gen(function* () {
      const text = `# first\n\n<urn:s>\t<urn:p>\t"a\\tb\\u00e9\\U0001F600" . # last\n_:b1 <urn:p> "x"@de-AT .\n`
      assert.deepStrictEqual(yield* linesBy(readNTriples, text), ['<urn:s> <urn:p> "a\\tbé😀" .', '_:b1 <urn:p> "x"@de-at .'])
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
      assert.deepStrictEqual(yield* linesBy(readTurtle, turtle), [text.trimEnd()])
    }),
  )
})
