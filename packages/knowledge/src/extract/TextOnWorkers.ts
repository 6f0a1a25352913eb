/**
 * Chunking and the detection of the language of a document on the worker pool in the context, whose limits bound what a text can cost.
 * Without a pool, the caller's thread does both.
 */
import type { WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Chunk } from "../document/Chunk.ts"
import { DocumentSetAside } from "../document/ReadError.ts"
import { Chunker, type ChunkerState, type ChunkingOptions, chunkStream } from "../document/Sentences.ts"
import type { OntologyIndex } from "../ontology/OntologyIndex.ts"
import { WorkerPool, type WorkerPoolService } from "../threads/WorkerPool.ts"
import { type DocumentLanguage, type LanguageEvidence, languageBy, languageEvidence } from "./language/DocumentLanguage.ts"

interface ChunksInput {
  readonly options: ChunkingOptions
  /** Undefined for the first piece. */
  readonly state: ChunkerState | undefined
  readonly piece: string
  readonly isLast: boolean
}

interface ChunksOutput {
  readonly chunks: ReadonlyArray<Chunk>
  readonly state: ChunkerState
}

const chunksIn = ({ options, state, piece, isLast }: ChunksInput): ChunksOutput => {
  const chunker = new Chunker(options, state)
  const chunks = [...chunker.push(piece), ...(isLast ? chunker.end() : [])]
  return { chunks, state: chunker.state }
}

/** Like `chunkStream`. A worker cuts each piece; between two pieces it is free for other work. */
export const chunksOnWorkers =
  (source: string, options: ChunkingOptions = {}) =>
  <E, R>(pieces: Stream.Stream<string, E, R>): Stream.Stream<Chunk, E | DocumentSetAside, R> =>
    Stream.unwrap(
      Effect.map(
        WorkerPool.inContext,
        Option.match({
          onNone: (): Stream.Stream<Chunk, E | DocumentSetAside, R> => chunkStream(options)(pieces),
          onSome: (pool) =>
            Stream.suspend(() => {
              let state: ChunkerState | undefined
              return withLast(pieces).pipe(
                Stream.mapEffect(({ piece, isLast }) =>
                  Effect.map(
                    ask<ChunksOutput>(pool, source, "text.chunks", { options, state, piece, isLast } satisfies ChunksInput),
                    (cut) => {
                      state = cut.state
                      return cut.chunks
                    },
                  ),
                ),
                Stream.flattenIterable,
              )
            }),
        }),
      ),
    )

/** Holds one piece back, so that a document of one piece takes one task. */
const withLast = <E, R>(pieces: Stream.Stream<string, E, R>) =>
  pieces.pipe(
    Stream.rechunk(1),
    Stream.mapAccumArray(
      (): ReadonlyArray<string> => [],
      (held, arrived) => {
        const all = [...held, ...arrived]
        return [all.slice(-1), all.slice(0, -1).map((piece) => ({ piece, isLast: false }))] as const
      },
      { onHalt: (held) => held.map((piece) => ({ piece, isLast: true })) },
    ),
  )

interface LanguageInput {
  readonly text: string
  readonly declared: string | undefined
}

/** Like `documentLanguage`: a worker reads the text, and the caller looks up its keys in the ontology. */
export const languageOnWorkers = (
  source: string,
  text: string,
  declared: string | undefined,
  ontology: OntologyIndex,
): Effect.Effect<DocumentLanguage, DocumentSetAside> =>
  Effect.gen(function* () {
    const pool = yield* WorkerPool.inContext
    const evidence = Option.isNone(pool)
      ? languageEvidence(text, declared)
      : yield* ask<LanguageEvidence>(pool.value, source, "text.language", { text, declared } satisfies LanguageInput)
    return languageBy(evidence, ontology)
  })

/** `A` is the output of the task. */
const ask = <A>(pool: WorkerPoolService, source: string, task: "text.chunks" | "text.language", input: unknown) =>
  Effect.mapError(
    pool.run(task, input, undefined, { limit: pool.limits.document }) as Effect.Effect<A, WorkerError>,
    (error) =>
      new DocumentSetAside({
        source,
        problem: error._tag === "LimitExceeded" ? `reading it was stopped, since ${error.problem}` : `its reader ended: ${error.problem}`,
        setting: "contentLimits.document",
      }),
  )

/** The tasks of a worker: `text.chunks` and `text.language`. */
export const tasks = {
  chunks: chunksIn,
  language: ({ text, declared }: LanguageInput): LanguageEvidence => languageEvidence(text, declared),
}
