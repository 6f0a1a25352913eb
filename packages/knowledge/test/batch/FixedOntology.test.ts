/** The ontology, shapes and examples of a batch are those it started with. */
import { readdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { RelativePath } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Batches } from "../../src/batch/Batches.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { harbour, lookout, manifest, ontology, shapes } from "./sea.ts"

const files = { "one.txt": "ShipAlba passed ShipBoreas.", "two.txt": "ShipCetus passed ShipDorado." }

/** Fails for a document until it is allowed. */
const failing = () => {
  let isBroken = true
  const before = ({ text }: { readonly text: string }) =>
    isBroken && text.includes("Cetus")
      ? Effect.fail(new ExtractionFailed({ extractor: "lookout", reason: "Refused", retryable: false, detail: "the lookout sleeps" }))
      : Effect.void
  return {
    extractor: lookout([], before),
    mend: () => {
      isBroken = false
    },
  }
}

describe("the ontology of a batch", () => {
  it.live("is stored under its hash, and a retry uses it though the file is broken or gone", () =>
    Effect.gen(function* () {
      const { extractor, mend } = failing()
      const { layer, folder, input, data } = yield* harbour({ files, extractor })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const shaped = manifest(["one.txt", "two.txt"], { shapes: RelativePath.make("shapes.ttl") })
        const id = yield* batches.start(folder, shaped)
        expect((yield* batches.awaitEnd(id))._tag).toBe("PartiallyCompleted")
        yield* Effect.promise(() => writeFile(join(input, "sea.ttl"), "this is no Turtle"))
        yield* Effect.promise(() => rm(join(input, "shapes.ttl")))
        mend()
        yield* batches.retry(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 2 })
        const stored = join(data, "ontologies/sea/sea")
        const [name = ""] = yield* Effect.promise(() => readdir(stored))
        expect(yield* Effect.promise(() => readFile(join(stored, name), "utf8"))).toBe(ontology)
        expect(shapes).not.toBe("")
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is refused at once when it is broken, though an earlier batch used the same file", () =>
    Effect.gen(function* () {
      const { layer, folder, input } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* Effect.flatMap(batches.start(folder, manifest(["one.txt"])), batches.awaitEnd)
        yield* Effect.promise(() => writeFile(join(input, "sea.ttl"), "this is no Turtle"))
        const refused = yield* Effect.flip(batches.start(folder, manifest(["two.txt"])))
        expect(refused._tag).toBe("ManifestRefused")
        expect(refused.message).toMatch(/sea\.ttl/)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("is the edited one for the next batch", () =>
    Effect.gen(function* () {
      const { layer, folder, input } = yield* harbour({ files })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const first = yield* batches.start(folder, manifest(["one.txt"]))
        const before = yield* batches.awaitEnd(first)
        yield* Effect.promise(() => writeFile(join(input, "sea.ttl"), `${ontology}\n:Light a owl:Class .`))
        const second = yield* batches.start(folder, manifest(["one.txt"]))
        const after = yield* batches.awaitEnd(second)
        expect(after._tag).toBe("Completed")
        expect(after.ontologyVersion).not.toBe(before.ontologyVersion)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("that a release before did not store is refused when it has changed", () =>
    Effect.gen(function* () {
      const { extractor } = failing()
      const { layer, folder, input, data } = yield* harbour({ files, extractor })
      const id = yield* Effect.gen(function* () {
        const batches = yield* Batches
        const started = yield* batches.start(folder, manifest(["one.txt", "two.txt"]))
        yield* batches.awaitEnd(started)
        return started
      }).pipe(Effect.provide(layer))
      // As it was stored before: the manifest names the file itself.
      const file = join(data, "batches", id, "manifest.json")
      const { ontologySource, ...stored } = JSON.parse(yield* Effect.promise(() => readFile(file, "utf8")))
      yield* Effect.promise(() => writeFile(file, JSON.stringify({ ...stored, ontologyUri: ontologySource })))
      yield* Effect.promise(() => writeFile(join(input, "sea.ttl"), `${ontology}\n:Light a owl:Class .`))
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        yield* batches.retry(id)
        const end = yield* batches.awaitEnd(id)
        expect(end).toMatchObject({ _tag: "Failed", error: { code: "OntologyChanged" } })
        expect(end._tag === "Failed" ? end.error.message : "").toMatch(/sea\.ttl has changed since the batch started/)
      }).pipe(Effect.provide(layer))
    }),
  )
})
