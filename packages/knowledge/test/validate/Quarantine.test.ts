import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { loadOntology } from "../../src/ontology/OntologyLoading.ts"
import { onlyHeld, quarantine, withoutHeld } from "../../src/validate/Quarantine.ts"
import type { Violation } from "../../src/validate/Report.ts"
import { derivedShapes, readShapes, type Shapes } from "../../src/validate/Shapes.ts"
import { validate } from "../../src/validate/Validation.ts"
import { base, GeneratedShapes, linesOf, Nodes, ontologyText, shapesText, type } from "./generated.ts"

/** Generated cases; `DETENT_PROPERTY_RUNS` asks for more. */
const runs = Number(process.env["DETENT_PROPERTY_RUNS"] ?? 30)

const index = await Effect.runPromise(loadOntology({ name: "sea.ttl", text: ontologyText }))
const derived = await Effect.runPromise(readShapes(derivedShapes(index), "the ontology"))

const year = (text: string) => `"${text}"^^<http://www.w3.org/2001/XMLSchema#gYear>`
const ship = (name: string) => [`<urn:${name}> ${type} <${base}Ship> .`, `<urn:${name}> <${base}name> "${name}" .`]
const built = (name: string, when: string) => `<urn:${name}> <${base}built> ${year(when)} .`

const held = (added: ReadonlyArray<string>, existing: ReadonlyArray<string>, shapes: Shapes = derived) =>
  Effect.gen(function* () {
    const lines = Stream.fromIterable([...added].sort())
    const result = yield* quarantine({ added: lines, existing: Stream.fromIterable([...existing].sort()) }, shapes, index)
    return { ...result, kept: yield* Stream.runCollect(withoutHeld(lines, result.held)), lines: result.held.lines() }
  })

describe("quarantine holds back", () => {
  it.effect("a second value from a later batch, and not the first nor anything else of the entity", () =>
    Effect.gen(function* () {
      const added = [...ship("a"), built("a", "1985"), `<urn:a> <${base}length> "12.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .`]
      const { lines, kept, remaining, statements, violations } = yield* held(added, [...ship("a"), built("a", "1984")])
      expect(lines).toEqual([built("a", "1985")])
      expect(kept).toEqual(added.filter((line) => line !== built("a", "1985")).sort())
      expect({ remaining, violations }).toEqual({ remaining: 0, violations: 1 })
      expect(statements).toMatchObject([{ subject: "urn:a", property: `${base}built`, value: "1985", message: "More than 1 values" }])
    }),
  )

  it.effect("nothing when a later batch says the same again", () =>
    Effect.gen(function* () {
      const added = [...ship("a"), built("a", "1984")]
      expect(yield* held(added, added)).toMatchObject({ lines: [], violations: 0 })
    }),
  )

  it.effect("both of two values that one batch contradicts itself with", () =>
    Effect.gen(function* () {
      const { lines } = yield* held([...ship("a"), built("a", "1984"), built("a", "1985")], [])
      expect(lines).toEqual([built("a", "1984"), built("a", "1985")])
    }),
  )

  it.effect("a value that is wrong by itself, and not the other that it contradicts", () =>
    Effect.gen(function* () {
      const least = `@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        [] a sh:NodeShape ; sh:targetClass <${base}Ship> ;
          sh:property [ sh:path <${base}built> ; sh:minInclusive "1900"^^xsd:gYear ; sh:maxCount 1 ] .`
      const shapes = yield* readShapes(least, "shapes.ttl")
      const { lines, statements } = yield* held([...ship("a"), built("a", "1889"), built("a", "1998")], [], shapes)
      expect(lines).toEqual([built("a", "1889")])
      expect(statements).toMatchObject([{ value: "1889" }])
    }),
  )

  it.effect("an entity that lacks what its class demands, with what points to it", () =>
    Effect.gen(function* () {
      const nameless = [`<urn:b> ${type} <${base}Ship> .`, built("b", "1984")]
      const pointing = `<urn:a> <${base}owner> <urn:b> .`
      const { lines, kept } = yield* held([...ship("a"), pointing, ...nameless], [])
      expect(lines).toEqual([pointing, ...nameless].sort())
      expect(kept).toEqual(ship("a").sort())
    }),
  )

  it.effect("a class that others exclude, when they stated theirs before", () =>
    Effect.gen(function* () {
      const { lines } = yield* held([`<urn:a> ${type} <${base}Port> .`, `<urn:a> <${base}name> "a" .`], ship("a"))
      expect(lines).toEqual([`<urn:a> ${type} <${base}Port> .`])
    }),
  )

  it.effect("nothing of others, and tells how many violations they leave", () =>
    Effect.gen(function* () {
      const twice = [...ship("a"), built("a", "1984"), built("a", "1985")]
      const { lines, remaining } = yield* held([...ship("a"), `<urn:a> <${base}name> "Alba" .`], twice)
      expect({ lines, remaining }).toEqual({ lines: [], remaining: 1 })
    }),
  )

  it.effect("the witnesses of what is held back, and no others", () =>
    Effect.gen(function* () {
      const rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
      const witness = (name: string, object: string) => [
        `<urn:w:${name}> ${type} <${rdf}Statement> .`,
        `<urn:w:${name}> <${rdf}object> ${object} .`,
        `<urn:w:${name}> <${rdf}predicate> <${base}built> .`,
        `<urn:w:${name}> <${rdf}subject> <urn:a> .`,
        `<urn:w:${name}> <urn:detent:vocabulary:quote> "built in ${name}" .`,
      ]
      const added = [...ship("a"), built("a", "1985"), ...witness("1985", year("1985"))].sort()
      const existing = [...ship("a"), built("a", "1984"), ...witness("1984", year("1984"))]
      const { held: statements, listed } = yield* held(added, existing)
      const back = yield* Stream.runCollect(onlyHeld(Stream.fromIterable(added), statements))
      expect(back).toEqual([built("a", "1985"), ...witness("1985", year("1985"))].sort())
      // The report shows both sides of the contradiction.
      expect(listed[0]?.sources.map(({ quote }) => quote).sort()).toEqual(["built in 1984", "built in 1985"])
    }),
  )
})

const Split = Schema.Struct({ nodes: Nodes, others: Nodes, before: Nodes, shapes: GeneratedShapes })

const keyOf = ({ focus, property, value, datatype, severity, shape, component }: Violation) =>
  JSON.stringify([focus, property, value, datatype, severity, shape, component])

const union = (...parts: ReadonlyArray<ReadonlyArray<string>>) => Stream.fromIterable([...new Set(parts.flat())].sort())

describe("a change to a graph", () => {
  it.effect.prop(
    "is validated as the whole graph would be, but for what was wrong before",
    [Split],
    ([{ nodes, others, before, shapes: generated }]) =>
      Effect.gen(function* () {
        const shapes = yield* readShapes(shapesText(generated), "shapes.ttl")
        const [added, existing, replaced] = [linesOf(nodes), linesOf(others), linesOf(before)]
        const keys = (found: { readonly listed: ReadonlyArray<Violation> }) => found.listed.map(keyOf)
        const after = keys(yield* validate({ added: union(added, existing) }, shapes, index))
        const earlier = new Set(keys(yield* validate({ added: union(existing, replaced) }, shapes, index)))
        const change = { added: union(added), existing: union(existing), replaced: union(replaced) }
        const found = keys(yield* validate(change, shapes, index))
        expect(found.filter((key) => !after.includes(key))).toEqual([])
        expect(after.filter((key) => !earlier.has(key) && !found.includes(key))).toEqual([])
      }),
    { arbitrary: { runs } },
  )

  it.effect.prop(
    "leaves a graph that conforms when it is quarantined, if the graph conformed before",
    [Split],
    ([{ nodes, others, shapes: generated }]) =>
      Effect.gen(function* () {
        const shapes = yield* readShapes(shapesText(generated), "shapes.ttl")
        const [added, all] = [linesOf(nodes), linesOf(others)]
        const existing = (yield* validate({ added: union(all) }, shapes, index)).violations === 0 ? all : []
        const result = yield* quarantine({ added: union(added), existing: union(existing) }, shapes, index)
        const kept = yield* Stream.runCollect(withoutHeld(union(added), result.held))
        const after = yield* validate({ added: union(kept, existing) }, shapes, index)
        // What a shape demands of a node it names itself no batch can hold back.
        const named = (yield* validate({ added: union(existing) }, shapes, index)).violations
        if (named === 0) expect({ violations: after.violations, remaining: result.remaining }).toEqual({ violations: 0, remaining: 0 })
        if (result.violations === 0) expect(kept).toEqual(yield* Stream.runCollect(union(added)))
      }),
    { arbitrary: { runs } },
  )
})

it.effect("reads the rest of the graph once, however many rounds it takes", () =>
  Effect.gen(function* () {
    const others = Array.from({ length: 2000 }, (_, number) => [...ship(`o${number}`), built(`o${number}`, "1984")])
      .flat()
      .sort()
    let read = 0
    const existing = Stream.map(Stream.fromIterable(others), (line) => {
      read++
      return line
    })
    const nameless = [`<urn:x> ${type} <${base}Ship> .`, `<urn:o7> <${base}owner> <urn:x> .`, built("o7", "1985")].sort()
    const result = yield* quarantine({ added: Stream.fromIterable(nameless), existing }, derived, index)
    expect(result.held.lines()).toEqual(nameless)
    expect(read).toBe(others.length)
  }),
)
