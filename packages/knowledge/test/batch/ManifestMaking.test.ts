import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Batches } from "../../src/batch/Batches.ts"
import type { ManifestFile } from "../../src/batch/Manifest.ts"
import { manifestOfFolder } from "../../src/batch/ManifestMaking.ts"
import { RelativePath } from "../../src/storage/Uri.ts"
import { harbour, manifest, sea } from "./sea.ts"

const files = {
  "one.txt": "ShipAlba passed ShipBoreas.",
  "two.txt": "ShipCetus passed ShipDorado.",
  "sound.mp3": "not words",
  "broken.ttl": "@prefix : <https://example.org/> . :Ship a",
  "broken-shapes.ttl": "this is no Turtle",
  "examples.jsonl": '{"sent":"A.","triples":[]}\n{"sent":7}\n',
}

/** What a manifest is refused with. Nothing may have been started or written. */
const refusal = (file: ManifestFile) =>
  Effect.gen(function* () {
    const { layer, folder, data } = yield* harbour({ files })
    return yield* Effect.gen(function* () {
      const batches = yield* Batches
      const refused = yield* Effect.flip(batches.start(folder, file))
      expect(refused._tag).toBe("ManifestRefused")
      expect((yield* batches.list()).instances).toEqual([])
      expect(yield* Effect.promise(() => readdir(join(data, "batches")).catch(() => []))).toEqual([])
      return refused.message
    }).pipe(Effect.provide(layer))
  })

describe("a manifest is refused before anything starts", () => {
  it.live("when a document is missing", () =>
    Effect.gen(function* () {
      expect(yield* refusal(manifest(["one.txt", "lost.txt"]))).toMatch(/no document at file:.*lost\.txt/)
    }),
  )

  it.live("when a document is named twice", () =>
    Effect.gen(function* () {
      expect(yield* refusal(manifest(["one.txt", "two.txt", "one.txt"]))).toMatch(/one\.txt is named 2 times/)
    }),
  )

  it.live("when a document is of no known kind", () =>
    Effect.gen(function* () {
      expect(yield* refusal(manifest(["one.txt", "sound.mp3"]))).toMatch(/sound\.mp3/)
    }),
  )

  it.live("when the ontology does not parse, or is not there", () =>
    Effect.gen(function* () {
      expect(yield* refusal(manifest(["one.txt"], { ontology: RelativePath.make("broken.ttl") }))).toMatch(/broken\.ttl/)
      expect(yield* refusal(manifest(["one.txt"], { ontology: RelativePath.make("none.ttl") }))).toMatch(/none\.ttl/)
    }),
  )

  it.live("when the shapes do not parse", () =>
    Effect.gen(function* () {
      expect(yield* refusal(manifest(["one.txt"], { shapes: RelativePath.make("broken-shapes.ttl") }))).toMatch(/broken-shapes\.ttl/)
    }),
  )

  it.live("when a line of the examples is none", () =>
    Effect.gen(function* () {
      expect(yield* refusal(manifest(["one.txt"], { examples: RelativePath.make("examples.jsonl") }))).toMatch(/examples\.jsonl, line 2/)
    }),
  )

  it.live("and all that is wrong with it is told at once", () =>
    Effect.gen(function* () {
      const message = yield* refusal(
        manifest(["lost.txt", "one.txt", "one.txt", "sound.mp3"], {
          ontology: RelativePath.make("broken.ttl"),
          shapes: RelativePath.make("broken-shapes.ttl"),
          examples: RelativePath.make("examples.jsonl"),
        }),
      )
      for (const problem of [
        /broken\.ttl/,
        /broken-shapes\.ttl/,
        /examples\.jsonl, line 2/,
        /lost\.txt/,
        /one\.txt is named 2/,
        /sound\.mp3/,
      ])
        expect(message).toMatch(problem)
    }),
  )
})

describe("a manifest of a folder", () => {
  it.live("names the documents of known kinds, without what is beside them", () =>
    Effect.gen(function* () {
      const { layer, folder } = yield* harbour({ files })
      const made = yield* manifestOfFolder(folder, { targetNamespace: sea, ontology: RelativePath.make("sea.ttl") }).pipe(
        Effect.provide(layer),
      )
      expect(made.documents.map(({ source }) => source.split("/").at(-1))).toEqual(["one.txt", "two.txt"])
    }),
  )
})
