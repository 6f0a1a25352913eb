/**
 * Reads documents on workers: what a document holds can make its reader take any time and memory, and then only that document fails.
 * Plain text is decoded where it arrives, piece by piece, in a time that grows with its length.
 */

import { fromOutcome, type Outcome, outcomeOf, type WorkerError } from "@detent/durable/ProcessPool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Place, Span } from "../extract/Fact.ts"
import { WorkerPool, type WorkerPoolService } from "../threads/WorkerPool.ts"
import { type CsvPosition, csvBatches, csvReading, csvStart, readCsvBatch } from "./Csv.ts"
import { collect, type DocumentSource, formatOf, readDocument, streamDocument } from "./DocumentReader.ts"
import { type DocumentFormat, DocumentMalformed, DocumentSetAside, ReadError } from "./ReadError.ts"
import { placesOf } from "./Reading.ts"
import { decodeStream, type Encoding, notEmpty } from "./TextDecoding.ts"

/** Like `streamDocument`, on the pool in the context. Without one, the caller's thread reads. */
export const streamOnWorkers = <E, R>(
  source: DocumentSource,
  bytes: Stream.Stream<Uint8Array, E, R>,
  found: (encoding: Encoding) => Effect.Effect<void> = () => Effect.void,
  declared: (language: string) => Effect.Effect<void> = () => Effect.void,
): Stream.Stream<string, E | ReadError, R> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const format = yield* formatOf(source)
      const pool = yield* WorkerPool.inContext
      if (Option.isNone(pool) || format === "txt") return streamDocument(source, bytes, found, declared)
      const reading = new ReadingWorkers(pool.value, source.name, format)
      if (format === "csv") return notEmpty(source.name, reading.csv(decodeStream(source.name, bytes, found)))
      const whole = Effect.gen(function* () {
        const { text, encoding, language } = yield* reading.whole(source, yield* collect(source.name, format, bytes))
        if (encoding !== undefined) yield* found(encoding)
        if (language !== undefined) yield* declared(language)
        return text
      })
      return Stream.flatMap(Stream.fromEffect(whole), inPieces)
    }),
  )

/** Where spans of the text of a document come from. Without a pool, the caller's thread reads. */
export const readPlaces = (
  pool: Option.Option<WorkerPoolService>,
  input: ReadPlacesInput,
): Effect.Effect<ReadonlyArray<ReadonlyArray<Place>>, ReadError> =>
  Effect.gen(function* () {
    const format = yield* formatOf(input.source)
    if (Option.isNone(pool)) return yield* placesInDocument(input)
    return yield* new ReadingWorkers(pool.value, input.source.name, format).places(input)
  })

class ReadingWorkers {
  readonly #pool: WorkerPoolService
  readonly #source: string
  readonly #format: DocumentFormat

  constructor(pool: WorkerPoolService, source: string, format: DocumentFormat) {
    this.#pool = pool
    this.#source = source
    this.#format = format
  }

  whole(source: DocumentSource, bytes: Uint8Array): Effect.Effect<ReadDocumentOutput, ReadError> {
    return this.#ask<ReadDocumentOutput>("document.read", { source, bytes } satisfies ReadDocumentInput)
  }

  places(input: ReadPlacesInput): Effect.Effect<ReadonlyArray<ReadonlyArray<Place>>, ReadError> {
    return this.#ask("document.places", input)
  }

  csv<E, R>(text: Stream.Stream<string, E, R>): Stream.Stream<string, E | ReadError, R> {
    return Stream.suspend(() => {
      let at = csvStart
      return Stream.mapEffect(csvBatches(this.#source, text), (batch) =>
        Effect.map(this.#ask<ReadCsvOutput>("document.csv", { source: this.#source, batch, at } satisfies ReadCsvInput), (read) => {
          at = read.next
          return read.text
        }),
      ).pipe(Stream.flatMap(inPieces))
    })
  }

  /** The answer of the pool is the output of the task of that name. */
  #ask<A>(task: "document.read" | "document.csv" | "document.places", input: unknown): Effect.Effect<A, ReadError> {
    return this.#pool.run(task, input, undefined, { limit: this.#pool.limits.document }).pipe(
      Effect.mapError((error) => this.#failure(error)),
      Effect.flatMap((outcome) => fromOutcome(ReadError, outcome as Outcome<A>)),
    )
  }

  #failure(error: WorkerError): ReadError {
    // What a reader throws that it does not expect, as a stack that is full.
    if (error._tag === "TaskFailed") return new DocumentMalformed({ source: this.#source, format: this.#format, problem: error.problem })
    const problem = error._tag === "LimitExceeded" ? `reading it was stopped, since ${error.problem}` : `its reader ended: ${error.problem}`
    return new DocumentSetAside({ source: this.#source, problem, setting: "contentLimits.document" })
  }
}

/** What is made of a text is made piece by piece, so that other work of the process gets its turn. */
const pieceLength = 65_536

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += pieceLength) yield text.slice(at, at + pieceLength)
}

const inPieces = (text: string): Stream.Stream<string> =>
  Stream.rechunk(Stream.fromIterable({ [Symbol.iterator]: () => piecesOf(text) }), 1)

interface ReadDocumentInput {
  readonly source: DocumentSource
  readonly bytes: Uint8Array
}

interface ReadDocumentOutput {
  readonly text: string
  readonly encoding: Encoding | undefined
  /** That the document declares. */
  readonly language?: string
}

interface ReadPlacesInput extends ReadDocumentInput {
  readonly spans: ReadonlyArray<Span>
}

interface ReadCsvInput {
  readonly source: string
  readonly batch: string
  readonly at: CsvPosition
}

interface ReadCsvOutput {
  readonly text: string
  readonly next: CsvPosition
}

/** The text of a whole document. */
const documentText = ({ source, bytes }: ReadDocumentInput) =>
  outcomeOf(
    ReadError,
    Effect.map(readDocument(source, bytes), ({ segments: _, ...read }): ReadDocumentOutput => read),
  )

const placesInDocument = ({ source, bytes, spans }: ReadPlacesInput) =>
  Effect.map(readDocument(source, bytes), (reading) => spans.map((span) => placesOf(reading, span)))

/** The text of some records. */
const csvText = ({ source, batch, at }: ReadCsvInput) =>
  outcomeOf(
    ReadError,
    Effect.map(readCsvBatch(source, batch, at), ({ records, next }): ReadCsvOutput => ({ text: csvReading(records, "utf-8").text, next })),
  )

/** What a worker runs under `document.read`, `document.csv` and `document.places`. */
export const tasks = {
  read: documentText,
  csv: csvText,
  places: (input: ReadPlacesInput) => outcomeOf(ReadError, placesInDocument(input)),
}
