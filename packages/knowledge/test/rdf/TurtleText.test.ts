import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { lineOf } from "../../src/rdf/NTriples.ts"
import { readTurtle } from "../../src/rdf/RdfReading.ts"
import { turtleText, writeNTriples } from "../../src/rdf/RdfWriting.ts"
import { triples } from "./triples.ts"

const prefixes = { ex: "http://example.org/", x: "urn:x:", xsd: "http://www.w3.org/2001/XMLSchema#", c: "https://a.b/c#" }

it.effect.prop("any graph read back from the text is the same graph", [triples], ([some]) =>
  Effect.gen(function* () {
    const written = yield* Stream.mkString(writeNTriples(Stream.fromIterable(some)))
    const lines = written.split("\n").filter((line) => line !== "")
    const text = turtleText(Stream.fromIterable(lines), prefixes)
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
    expect(yield* Stream.mkString(turtleText(Stream.fromIterable(lines), { ex: prefixes.ex, xsd: prefixes.xsd }))).toBe(
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
