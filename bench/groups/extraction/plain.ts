/**
 * The extraction without durability: the same reading, chunking and extraction as in a run, with the facts in memory. There is
 * no run, no checkpoint, no workflow and no database, and nothing is hashed or encoded for storage.
 */
import { readFile } from "node:fs/promises"
import { Storage } from "@detent/blobs/Storage"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Chunk } from "../../../packages/knowledge/src/document/Chunk.ts"
import { streamStored } from "../../../packages/knowledge/src/document/DocumentReader.ts"
import { chunkStream } from "../../../packages/knowledge/src/document/Sentences.ts"
import * as BuiltIn from "../../../packages/knowledge/src/extract/builtin/BuiltIn.ts"
import { readExamples } from "../../../packages/knowledge/src/extract/builtin/Example.ts"
import { loadOntology } from "../../../packages/knowledge/src/ontology/OntologyLoading.ts"
import type { Equipment } from "../../../packages/knowledge/src/runs/Extractors.ts"
import { type ChunkFindings, findInChunks } from "../../../packages/knowledge/src/runs/ExtractStep.ts"
import { defaultPipelineConfig } from "../../../packages/knowledge/src/runs/Run.ts"
import { documentIdOf, RunId } from "../../../packages/knowledge/src/storage/Identity.ts"
import { uriOf } from "./durably.ts"
import { examplesFile, ontologyFile } from "./Texts.ts"

export const plain: Effect.Effect<Equipment> = Effect.gen(function* () {
  const [ontologyText, examplesText] = yield* Effect.promise(() =>
    Promise.all([readFile(ontologyFile, "utf8"), readFile(examplesFile, "utf8")]),
  )
  const ontology = yield* loadOntology({ name: ontologyFile, text: ontologyText })
  const examples = yield* Effect.fromResult(readExamples({ uri: examplesFile, text: examplesText }))
  return { ontology, extractor: BuiltIn.make({ examples }) }
}).pipe(Effect.orDie)

/** The entities and facts of one chunk. */
export const extractChunk = ({ extractor, ontology }: Equipment, chunk: Chunk) =>
  Effect.gen(function* () {
    const { mentions } = yield* extractor.entities(chunk, ontology)
    const { facts } = yield* extractor.facts(chunk, mentions, ontology)
    return { mentions, facts }
  })

/** The findings that a run of the file would store, batch by batch. */
export const extractPlainly = (own: Equipment, file: string): Effect.Effect<ReadonlyArray<ChunkFindings>, never, Storage> =>
  Effect.gen(function* () {
    const storage = yield* Storage
    const { windowSize, overlap, batchSize, concurrency, reviewBelow } = defaultPipelineConfig
    const source = {
      documentId: documentIdOf(file),
      runId: RunId.make("00000000-0000-8000-a000-000000000000"),
      extractor: own.extractor.name,
    }
    return yield* streamStored(storage, uriOf(file)).pipe(
      chunkStream({ size: windowSize, overlap }),
      Stream.grouped(batchSize),
      Stream.mapEffect((chunks) => findInChunks({ ...own, chunks, source, concurrency, reviewBelow })),
      Stream.runCollect,
    )
  }).pipe(Effect.orDie)
