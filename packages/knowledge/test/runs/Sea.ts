/** Runs over documents of ships that pass each other, for tests: an extractor that finds them, and all that a run needs. */

import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { FileStorage } from "@detent/blobs"
import { FileUri, Storage, StorageFolder, type StorageService, type StorageUri } from "@detent/blobs/Storage"
import * as DurableWorkflow from "@detent/durable/DurableWorkflow"
import * as SqliteStore from "@detent/durable/SqliteStore"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Chunk } from "../../src/document/Chunk.ts"
import { type ExtractionFailed, Extractor, type ExtractorService, noUsage } from "../../src/extract/Extractor.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import * as ExtractionWorkflow from "../../src/runs/ExtractionWorkflow.ts"
import { Extractors } from "../../src/runs/Extractors.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import * as ArtifactStore from "../../src/storage/ArtifactStore.ts"
import { BatchId } from "../../src/storage/Identity.ts"

export const base = "https://example.org/sea#"
export const ontologyText = `@prefix : <${base}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . :Ship a owl:Class . :passed a owl:ObjectProperty .`

/** 600 facts in about twenty chunks of 2000 characters. */
export const longText = Array.from({ length: 600 }, (_, number) => `Ship${number} passed Ship${number + 1} in the fog off the coast.`).join(
  " ",
)

/** Finds "X passed Y", and tells of every chunk it was asked about. */
export const passing = (
  asked: { push(index: number): unknown },
  before: (chunk: Chunk) => Effect.Effect<void, ExtractionFailed> = () => Effect.void,
): ExtractorService => {
  const shipsIn = (chunk: Chunk) =>
    [...chunk.text.matchAll(/Ship\d+/g)].map((match) => ({
      type: `${base}Ship`,
      text: match[0],
      span: { start: chunk.offset + match.index, end: chunk.offset + match.index + match[0].length },
      confidence: 0.9,
    }))
  return {
    name: "test",
    entities: (chunk) =>
      Effect.gen(function* () {
        yield* before(chunk)
        asked.push(chunk.index)
        return { mentions: shipsIn(chunk), usage: { calls: 1, inputTokens: 10, outputTokens: 5, cost: undefined } }
      }),
    facts: (chunk) =>
      Effect.sync(() => {
        const ships = shipsIn(chunk)
        const facts = ships.flatMap((ship, index) => {
          const object = ships[index + 1]
          if (index % 2 === 1 || object === undefined) return []
          return [
            {
              subject: ship,
              property: `${base}passed`,
              object: { _tag: "Entity" as const, mention: object },
              quote: chunk.text.slice(0, 20),
              span: { start: chunk.offset, end: chunk.offset + 20 },
              confidence: 0.8,
            },
          ]
        })
        return { facts, usage: noUsage }
      }),
  }
}

export interface PortOptions<E> {
  readonly root: string
  readonly extractor: ExtractorService
  readonly nodeId?: string
  /** Default: a SQLite file in the root. */
  readonly store?: ReturnType<typeof SqliteStore.layer> | Layer.Layer<Layer.Success<ReturnType<typeof SqliteStore.layer>>, E>
  /** Below the root. */
  readonly artifacts?: string
  readonly database?: string
  /** What stands between runs and the files. */
  readonly storage?: (storage: StorageService) => StorageService
}

export const uriIn = (root: string, name: string) => FileUri.make(String(pathToFileURL(join(root, name))))

/** Everything a run needs, once. */
export const port = <E = never>(options: PortOptions<E>) => {
  const { root, extractor, nodeId = "test", artifacts = "artifacts", database = "runs.db" } = options
  const files = FileStorage.layer({ root })
  const wrapped = options.storage
  const storage = wrapped === undefined ? files : Layer.effect(Storage, Effect.map(Storage, wrapped)).pipe(Layer.provide(files))
  return ExtractionWorkflow.layer.pipe(
    Layer.provideMerge(Extractions.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        DurableWorkflow.layer({ nodeId }),
        RunStore.layer,
        ArtifactStore.layer(StorageFolder.make(`${pathToFileURL(join(root, artifacts))}/`)),
        Extractors.layer,
      ),
    ),
    Layer.provideMerge(
      Layer.mergeAll(options.store ?? SqliteStore.layer({ filename: join(root, database) }), storage, Layer.succeed(Extractor, extractor)),
    ),
  )
}

export const requestIn = (root: string, name: string) => ({
  sourceUri: uriIn(root, name) as StorageUri,
  ontologyUri: uriIn(root, "sea.ttl") as StorageUri,
  config: { windowSize: 2000, overlap: 0, batchSize: 2 },
})

/** A part of a batch, so that asking again is asking for the same run. */
export const partOf = (number: number) => ({ batchId: BatchId.make(`batch-${String(number).padStart(12, "0")}`), attempt: 0 })

/** A folder with these files and the ontology; it goes with the scope. */
export const folderWith = (documents: Readonly<Record<string, string | Uint8Array>>) =>
  Effect.gen(function* () {
    const root = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "detent-run-"))),
      (path) => Effect.promise(() => rm(path, { recursive: true })),
    )
    for (const [name, content] of Object.entries({ "sea.ttl": ontologyText, ...documents }))
      yield* Effect.promise(() => writeFile(join(root, name), content))
    return root
  })

export const opened = (extractor: ExtractorService, documents: Readonly<Record<string, string | Uint8Array>>) =>
  Effect.map(folderWith(documents), (root) => ({
    root,
    uri: (name: string) => uriIn(root, name),
    layer: port({ root, extractor }),
    request: (name: string) => requestIn(root, name),
  }))
