import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Arbitrary from "effect/unstable/arbitrary/Arbitrary"
import { relabelBlankNodes } from "../../src/rdf/BlankNodes.ts"
import { lineOf } from "../../src/rdf/NTriples.ts"
import { blankNode, namedNode, type Triple, triple } from "../../src/rdf/Term.ts"

const canonical = (triples: ReadonlyArray<Triple>) => Effect.map(relabelBlankNodes(triples), (relabelled) => relabelled.map(lineOf))

const label = Schema.Literals(["a", "b", "c", "d", "e"])
const edges = Arbitrary.array(Arbitrary.schema(Schema.Struct({ from: label, to: label, by: Schema.Literals(["urn:p", "urn:q"]) })), {
  maxLength: 9,
})
const graphOf = (some: ReadonlyArray<{ readonly from: string; readonly to: string; readonly by: string }>) =>
  some.map(({ from, to, by }) => triple(blankNode(from), by, blankNode(to)))

const rename = (triples: ReadonlyArray<Triple>, names: Readonly<Record<string, string>>): ReadonlyArray<Triple> =>
  triples.map(({ subject, predicate, object }) => ({
    subject: blankNode(names[subject.value] ?? subject.value),
    predicate,
    object: blankNode(names[object.value] ?? object.value),
  }))

describe("labels of blank nodes", () => {
  it.effect("are those of the W3C's examples", () =>
    Effect.gen(function* () {
      const [p, u] = [namedNode("http://example.com/#p"), namedNode("http://example.com/#u")]
      const [e0, e1] = [blankNode("e0"), blankNode("e1")]
      assert.deepStrictEqual(
        yield* canonical([
          triple(p, "http://example.com/#q", e0),
          triple(p, "http://example.com/#r", e1),
          triple(e0, "http://example.com/#s", u),
          triple(e1, "http://example.com/#t", u),
        ]),
        [
          "<http://example.com/#p> <http://example.com/#q> _:c14n0 .",
          "<http://example.com/#p> <http://example.com/#r> _:c14n1 .",
          "_:c14n0 <http://example.com/#s> <http://example.com/#u> .",
          "_:c14n1 <http://example.com/#t> <http://example.com/#u> .",
        ],
      )
    }),
  )

  it.effect.prop("do not depend on what the nodes were called, nor on the order", [edges], ([some]) =>
    Effect.gen(function* () {
      const graph = graphOf(some)
      const lines = yield* canonical(graph)
      assert.deepStrictEqual(yield* canonical(rename(graph, { a: "c", c: "e", e: "a", b: "d", d: "b" }).toReversed()), lines)
      assert.deepStrictEqual(yield* canonical(yield* relabelBlankNodes(graph)), lines)
    }),
  )

  it.effect.prop("keep graphs apart that differ", [edges, edges], ([some, others]) =>
    Effect.gen(function* () {
      const isSame = (yield* canonical(graphOf(some))).join() === (yield* canonical(graphOf(others))).join()
      assert.strictEqual(isSame, areIsomorphic(graphOf(some), graphOf(others)))
    }),
  )

  it.effect("are refused for a graph made to be endless", () =>
    Effect.gen(function* () {
      const nodes = Array.from({ length: 10 }, (_, index) => blankNode(`n${index}`))
      const clique = nodes.flatMap((from) => nodes.filter((to) => to !== from).map((to) => triple(from, "urn:p", to)))
      const alike = yield* Effect.flip(relabelBlankNodes(clique))
      assert.include(alike.message, "10 blank nodes are too much alike")
    }),
  )
})

/** By trying every renaming: the definition itself. */
const areIsomorphic = (some: ReadonlyArray<Triple>, others: ReadonlyArray<Triple>): boolean => {
  const linesOf = (triples: ReadonlyArray<Triple>) => [...new Set(triples.map(lineOf))].sort().join("\n")
  const target = linesOf(others)
  const labels = ["a", "b", "c", "d", "e"]
  const tryAll = (left: ReadonlyArray<string>, names: Readonly<Record<string, string>>): boolean => {
    const next = labels[Object.keys(names).length]
    if (next === undefined) return linesOf(rename(some, names)) === target
    return left.some((name) =>
      tryAll(
        left.filter((other) => other !== name),
        { ...names, [next]: name },
      ),
    )
  }
  return tryAll(labels, {})
}
