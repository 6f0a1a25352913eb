import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { contentHashOf } from "@detent/blobs/ContentHash"
import { MemUri, RelativePath } from "@detent/blobs/Storage"
import { describe, expect, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import { Batches } from "../../src/batch/Batches.ts"
import { decodeManifest, decodeManifestFile, encodeManifest, type Manifest, type ManifestFile } from "../../src/batch/Manifest.ts"
import { manifestOfFolder } from "../../src/batch/ManifestMaking.ts"
import { BatchId, documentIdOf, OntologyName, ontologyVersionOf } from "../../src/storage/Identity.ts"
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

  it.live("and all that is wrong with it is reported at once", () =>
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
      const made = yield* manifestOfFolder(folder, {
        targetNamespace: sea,
        ontology: RelativePath.make("sea.ttl"),
        examples: RelativePath.make("examples.jsonl"),
      }).pipe(Effect.provide(layer))
      expect(made.documents.map(({ source }) => source.split("/").at(-1))).toEqual(["one.txt", "two.txt"])
    }),
  )
})

describe("a manifest of many documents", () => {
  const count = 20_000

  /** How often other work of the thread had its turn meanwhile. */
  const turnsDuring = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      let turns = 0
      let isOver = false
      const turn = () => {
        turns++
        if (!isOver) setImmediate(turn)
      }
      setImmediate(turn)
      const result = yield* effect
      isOver = true
      return { result, turns }
    })

  const sources = Array.from({ length: count }, (_, index) => ({ source: RelativePath.make(`documents/letter-${index}.txt`) }))

  it.live("is read with turns for other work, as it was written", () =>
    Effect.gen(function* () {
      const file = { targetNamespace: sea, ontology: RelativePath.make("sea.ttl"), documents: sources }
      const { result, turns } = yield* turnsDuring(decodeManifestFile(JSON.stringify(file)))
      expect(result).toEqual(file)
      expect(turns).toBeGreaterThan(10)
    }),
  )

  it.live("is stored and read again with turns for other work", () =>
    Effect.gen(function* () {
      const uri = MemUri.make("mem://letters/ontology.ttl")
      const stored: Manifest = {
        batchId: BatchId.make("batch-0123456789ab"),
        ontologyUri: uri,
        ontologyVersion: ontologyVersionOf(sea, OntologyName.make("sea"), contentHashOf("")),
        targetNamespace: sea,
        documents: sources.map(({ source }) => {
          const sourceUri = MemUri.make(`mem://letters/${source}`)
          return { documentId: documentIdOf(sourceUri), sourceUri, contentType: "text/plain", sizeBytes: 1 }
        }),
        createdAt: DateTime.makeUnsafe(0),
      }
      const written = yield* turnsDuring(encodeManifest(stored))
      expect(written.turns).toBeGreaterThan(10)
      const read = yield* turnsDuring(decodeManifest(written.result))
      expect(read.result).toEqual(stored)
      expect(read.turns).toBeGreaterThan(10)
    }),
  )
})
