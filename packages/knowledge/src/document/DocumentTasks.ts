/** The side of the worker that reads documents. */
import * as Effect from "effect/Effect"
import { outcomeOf } from "../threads/Outcome.ts"
import { type CsvPosition, csvReading, readCsvBatch } from "./Csv.ts"
import { type DocumentSource, readDocument } from "./DocumentReader.ts"
import { ReadError } from "./ReadError.ts"
import type { Encoding } from "./TextDecoding.ts"

export interface ReadDocumentInput {
  readonly source: DocumentSource
  readonly bytes: Uint8Array
}

export interface ReadDocumentOutput {
  readonly text: string
  readonly encoding: Encoding | undefined
}

export interface ReadCsvInput {
  readonly source: string
  readonly batch: string
  readonly at: CsvPosition
}

export interface ReadCsvOutput {
  readonly text: string
  readonly next: CsvPosition
}

/** The text of a whole document. */
export const documentText = ({ source, bytes }: ReadDocumentInput) =>
  outcomeOf(
    ReadError,
    Effect.map(readDocument(source, bytes), ({ text, encoding }): ReadDocumentOutput => ({ text, encoding })),
  )

/** The text of some records. */
export const csvText = ({ source, batch, at }: ReadCsvInput) =>
  outcomeOf(
    ReadError,
    Effect.map(readCsvBatch(source, batch, at), ({ records, next }): ReadCsvOutput => ({ text: csvReading(records, "utf-8").text, next })),
  )
