import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Batches } from "../../src/batch/Batches.ts"
import { IriBase } from "../../src/KnowledgeSettings.ts"
import { canonical, documentsOf, harbour, manifest } from "./sea.ts"

it.live("the IRIs of a graph are opaque, below the base that the settings choose", () =>
  Effect.gen(function* () {
    const files = documentsOf(2)
    for (const [settings, base] of [
      [{ iriBase: "https://data.example.org/id/" }, "https://data.example.org/id/sea/"],
      [{}, "urn:detent:graph:sea/"],
    ] as const) {
      const { folder, layer, data } = yield* harbour({ files, settings })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(Object.keys(files)))
        assert.strictEqual((yield* batches.awaitEnd(id))._tag, "Completed")
        const { lines } = yield* canonical(data)
        const ships = lines.filter((line) => line.includes("rdf-schema#label")).map((line) => line.slice(1, line.indexOf(">")))
        assert.lengthOf(ships, 4)
        for (const iri of ships) assert.match(iri.slice(base.length), /^[0-9a-f]{20}$/)
        for (const iri of ships) assert.isTrue(iri.startsWith(base), iri)
      }).pipe(Effect.provide(layer))
    }
  }),
)

it("a base of IRIs ends where a name can follow", () => {
  const accepts = Schema.is(IriBase)
  for (const base of ["https://data.example.org/id/", "https://data.example.org/id#", "urn:example:"]) assert.isTrue(accepts(base), base)
  for (const base of ["https://data.example.org/id", "data/", "https://data.example.org/a b/", "https://data.example.org/<id>/"])
    assert.isFalse(accepts(base), base)
})
