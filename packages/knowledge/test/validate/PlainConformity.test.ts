import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { nodesOfLines } from "../../src/graph/GraphLines.ts"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { ClassMembership } from "../../src/validate/AffectedNodes.ts"
import { derivedShapes, readShapes } from "../../src/validate/Shapes.ts"
import { plainConformity, validate, validateByLibrary } from "../../src/validate/Validation.ts"
import { base, GeneratedShapes, linesOf, Nodes, ontologyText, shapesText, type } from "./generated.ts"

/** Generated cases; `DETENT_PROPERTY_RUNS` asks for more. */
const runs = Number(process.env["DETENT_PROPERTY_RUNS"] ?? 30)

const index = await Effect.runPromise(loadOntology({ name: "sea.ttl", text: ontologyText }))
const derived = await Effect.runPromise(readShapes(derivedShapes(index), "the ontology"))

describe("what is found when most nodes are passed at a glance", () => {
  it.effect.prop(
    "is what the library finds in the whole graph, with shapes derived from the ontology",
    [Nodes],
    ([nodes]) =>
      Effect.gen(function* () {
        const added = Stream.fromIterable(linesOf(nodes))
        expect(derived.local).toBe(true)
        expect(yield* validate({ added }, derived, index)).toEqual(yield* validateByLibrary({ added }, derived, index))
      }),
    { arbitrary: { runs: 40 } },
  )

  it.effect.prop(
    "is what the library finds in the whole graph, with any shapes",
    [Nodes, GeneratedShapes],
    ([nodes, generated]) =>
      Effect.gen(function* () {
        const added = Stream.fromIterable(linesOf(nodes))
        const shapes = yield* readShapes(shapesText(generated), "shapes.ttl")
        expect(yield* validate({ added }, shapes, index)).toEqual(yield* validateByLibrary({ added }, shapes, index))
      }),
    { arbitrary: { runs } },
  )
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
      const classes = new ClassMembership(index)
      for (const node of found) classes.add(node)
      const conforms = plainConformity(derived, classes)
      expect(found.filter(conforms).map(({ subject }) => subject)).toEqual(["<urn:a>", "<urn:p>"])
    }),
  )
})
