/**
 * Reads a document of any supported kind as plain text, in the caller's thread or on workers. Plain text and CSV may be of any size and
 * are read piece by piece; the others are held in memory and have a limit.
 */

import type { StorageError, StorageService, StorageUri } from "@detent/blobs/Storage"
import { describe } from "@detent/machine/internal"
import { fromOutcome, type Outcome, outcomeOf, type WorkerError } from "@detent/processes"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Place, Span } from "../fact/Fact.ts"
import { WorkerPool, type WorkerPoolService } from "../threads/WorkerPool.ts"
import { type CsvPosition, csvBatches, csvReading, csvRecords, csvStart, readCsvBatch } from "./Csv.ts"
import { loadFrontMatter } from "./FrontMatter.ts"
import { decodeHtml, readHtml } from "./Html.ts"
import { readJson, readJsonLines } from "./Json.ts"
import { hasFrontMatter, readMarkdown } from "./Markdown.ts"
import {
  DocumentEmpty,
  DocumentEncrypted,
  type DocumentFormat,
  DocumentMalformed,
  DocumentSetAside,
  DocumentTooLarge,
  FormatUnknown,
  ReadError,
} from "./ReadError.ts"
import { type FoundRecord, movedRecords, placesOf, type Reading, TextBuilder } from "./Reading.ts"
import { type DecodedText, decodeBytes, decodeStream, type Encoding, notEmpty } from "./TextDecoding.ts"
import { readWorkbook } from "./Workbook.ts"

export interface DocumentSource {
  /** A file name or an address, for errors. Its extension gives the format. */
  readonly name: string
  /** Takes precedence over the extension: `text/html`, or just `html`. */
  readonly contentType?: string
}

/** The largest document that is read as a whole, in bytes. */
export const largestWhole = 64 * 1024 * 1024

export const formatOf = ({ name, contentType }: DocumentSource): Effect.Effect<DocumentFormat, FormatUnknown> => {
  const type = contentType?.split(";")[0]?.trim().toLowerCase()
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ""
  const format = type === undefined ? byEnding[ending] : (byContentType[type] ?? byEnding[type])
  return format === undefined
    ? Effect.fail(new FormatUnknown({ source: name, ...(contentType === undefined ? {} : { contentType }) }))
    : Effect.succeed(format)
}

const byEnding: Readonly<Record<string, DocumentFormat>> = {
  txt: "txt",
  text: "txt",
  md: "md",
  markdown: "md",
  html: "html",
  htm: "html",
  xhtml: "html",
  json: "json",
  jsonl: "jsonl",
  ndjson: "jsonl",
  csv: "csv",
  tsv: "csv",
  xlsx: "xlsx",
  pdf: "pdf",
}

const byContentType: Readonly<Record<string, DocumentFormat>> = {
  "text/plain": "txt",
  "text/markdown": "md",
  "text/html": "html",
  "application/xhtml+xml": "html",
  "application/json": "json",
  "application/x-ndjson": "jsonl",
  "application/jsonl": "jsonl",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "text/csv": "csv",
  "text/tab-separated-values": "csv",
  "application/pdf": "pdf",
}

/** The whole document, with the map back to its source. */
export const readDocument = (source: DocumentSource, bytes: Uint8Array): Effect.Effect<Reading, ReadError> =>
  Effect.gen(function* () {
    const format = yield* formatOf(source)
    if (bytes.length > largestWhole) {
      return yield* new DocumentTooLarge({ source: source.name, format, size: bytes.length, limit: largestWhole })
    }
    const reading = yield* readWhole(format, source.name, bytes)
    return reading.text.trim() === "" ? yield* new DocumentEmpty({ source: source.name, format }) : reading
  })

const readWhole = (format: DocumentFormat, source: string, bytes: Uint8Array): Effect.Effect<Reading, ReadError> =>
  Effect.gen(function* () {
    if (format === "pdf") return yield* readPdf(source, bytes)
    if (format === "xlsx") return yield* readWorkbook(source, bytes)
    if (format === "html") return yield* readHtml(source, yield* Effect.fromResult(decodeHtml(source, bytes)))
    const decoded = yield* Effect.fromResult(decodeBytes(source, bytes))
    if (format === "json") return yield* Effect.fromResult(readJson(source, decoded))
    if (format === "jsonl") return yield* Effect.fromResult(readJsonLines(source, decoded))
    if (format === "md") return readMarkdown(decoded, hasFrontMatter(decoded.text) ? yield* loadFrontMatter : undefined)
    if (format === "csv") return csvReading(yield* Stream.runCollect(csvRecords(source, Stream.succeed(decoded.text))), decoded.encoding)
    return readPlainText(decoded)
  })

/** What a reader learns of a document besides its text. */
export interface ReadingNotes {
  /** The encoding, at the end. */
  readonly encoding?: (encoding: Encoding) => Effect.Effect<void>
  /** The language that the document declares, before any text. */
  readonly language?: (language: string) => Effect.Effect<void>
  /** Records, before the text that they are in. */
  readonly records?: (records: ReadonlyArray<FoundRecord>) => Effect.Effect<void>
}

const ignored = () => Effect.void

/** The text alone, piece by piece where the format allows. */
export const streamDocument = <E, R>(
  source: DocumentSource,
  bytes: Stream.Stream<Uint8Array, E, R>,
  notes: ReadingNotes = {},
): Stream.Stream<string, E | ReadError, R> =>
  Stream.unwrap(
    Effect.map(formatOf(source), (format): Stream.Stream<string, E | ReadError, R> => {
      const { encoding: found = ignored } = notes
      if (format === "txt") return notEmpty(source.name, decodeStream(source.name, bytes, found))
      if (format === "csv") {
        const pieces = Stream.map(csvRecords(source.name, decodeStream(source.name, bytes, found)), (record) =>
          csvReading([record], "utf-8"),
        )
        return notEmpty(source.name, inOneText(pieces, notes))
      }
      const whole = Effect.flatMap(collect(source.name, format, bytes), (all) => readDocument(source, all)).pipe(
        Effect.tap((read) => noted(read, notes)),
        Effect.map(({ text }) => text),
      )
      return Stream.fromEffect(whole)
    }),
  )

/** Passes on what was read of a whole document. */
const noted = ({ encoding, language, records }: ReadDocumentOutput, notes: ReadingNotes): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (encoding !== undefined) yield* (notes.encoding ?? ignored)(encoding)
    if (language !== undefined) yield* (notes.language ?? ignored)(language)
    if (records.length > 0) yield* (notes.records ?? ignored)(records)
  })

/** The text of parts that follow each other. Their records move to where the part is in the whole text. */
const inOneText = <E, R>(
  parts: Stream.Stream<{ readonly text: string; readonly records: ReadonlyArray<FoundRecord> }, E, R>,
  { records: note = ignored }: ReadingNotes,
): Stream.Stream<string, E, R> =>
  Stream.suspend(() => {
    let length = 0
    return Stream.mapEffect(parts, ({ text, records }) => {
      const moved = movedRecords(records, length)
      length += text.length
      return Effect.as(note(moved), text)
    })
  })

const collect = <E, R>(
  source: string,
  format: DocumentFormat,
  bytes: Stream.Stream<Uint8Array, E, R>,
): Effect.Effect<Uint8Array, E | DocumentTooLarge, R> =>
  Effect.gen(function* () {
    const pieces: Array<Uint8Array> = []
    let size = 0
    yield* Stream.runForEach(bytes, (piece) => {
      pieces.push(piece)
      size += piece.length
      return size > largestWhole ? Effect.fail(new DocumentTooLarge({ source, format, size, limit: largestWhole })) : Effect.void
    })
    return Buffer.concat(pieces)
  })

const readPlainText = ({ text, encoding }: DecodedText): Reading => ({
  text,
  records: [],
  segments: text === "" ? [] : [{ start: 0, end: text.length, place: { _tag: "Characters", start: 0, end: text.length } }],
  encoding,
})

/** Reads a whole document from storage. */
export const readStored = (
  storage: StorageService,
  uri: StorageUri,
  contentType?: string,
): Effect.Effect<Reading, ReadError | StorageError> => {
  const source = sourceOf(uri, contentType)
  return Effect.gen(function* () {
    const format = yield* formatOf(source)
    const info = yield* storage.info(uri)
    // Checked before the download: a file that is too large is not fetched.
    if (Option.isSome(info) && info.value.size > largestWhole) {
      return yield* new DocumentTooLarge({ source: uri, format, size: info.value.size, limit: largestWhole })
    }
    const { bytes } = yield* storage.get(uri)
    return yield* readDocument(source, bytes)
  })
}

/** The text of a document in storage, piece by piece where the format allows. */
export const streamStored = (
  storage: StorageService,
  uri: StorageUri,
  contentType?: string,
): Stream.Stream<string, ReadError | StorageError> => streamDocument(sourceOf(uri, contentType), storage.getStream(uri))

const sourceOf = (uri: StorageUri, contentType: string | undefined): DocumentSource => ({
  name: uri,
  ...(contentType === undefined ? {} : { contentType }),
})

/** The title of a document: from its front matter, from a heading at its beginning, or else its file name without the extension. */
export const titleOf = (address: string, beginning: string): string => {
  const [first = "", ...rest] = beginning.trimStart().split(/\n[^\S\n]*\n/, 2)
  const named = /^title:[^\S\n]*(\S[^\n]*)$/imu.exec(first)?.[1]
  if (named !== undefined) return tidy(named.replace(/^["'](.*)["']\s*$/u, "$1"))
  return rest.length > 0 && isHeading(first.trim()) ? tidy(first) : fileName(address)
}

/** How many characters of a text are searched for its title. */
export const titleWithin = 2000

/** Whether this is one short line that is neither a sentence nor `key: value`. */
const isHeading = (line: string): boolean => line.length <= 120 && !line.includes("\n") && !line.includes(": ") && !/[.,:;]$/u.test(line)

const tidy = (text: string): string => text.trim().replace(/\s+/gu, " ").slice(0, 200).toWellFormed()

const fileName = (address: string): string => {
  const last = address.split("/").at(-1) ?? address
  const spelled = address.startsWith("file:") ? decodeURIComponent(last) : last
  return spelled.replace(/(?<=.)\.[A-Za-z0-9]+$/, "")
}

/** The text of a PDF, page by page. */
const readPdf = (source: string, bytes: Uint8Array): Effect.Effect<Reading, DocumentEncrypted | DocumentMalformed> =>
  Effect.tryPromise({
    try: async () => {
      const { extractText, getDocumentProxy } = await import("unpdf")
      // The library keeps its input and accepts no Node buffers, so it gets a copy.
      const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
      try {
        return await extractText(document, { mergePages: false })
      } finally {
        await document.loadingTask.destroy()
      }
    },
    catch: (error) =>
      error instanceof Error && error.name === "PasswordException"
        ? new DocumentEncrypted({ source })
        : new DocumentMalformed({ source, format: "pdf", problem: describe(error) }),
  }).pipe(
    Effect.map(({ text }) => {
      const builder = new TextBuilder()
      const compounds = compoundsIn(text)
      for (const [index, page] of text.entries()) {
        builder.add(joinDividedWords(page.toWellFormed(), compounds).trim(), { _tag: "Page", page: index + 1 })
        builder.breakLine(2)
      }
      return builder.build(undefined)
    }),
  )

/** The words of a text that are written with a hyphen within a line, in lower case: "well-known". */
const compoundsIn = (pages: ReadonlyArray<string>): ReadonlySet<string> =>
  new Set(pages.flatMap((page) => [...page.matchAll(/(?<!\p{L})\p{L}+-\p{L}+/gu)].map(([word]) => word.toLowerCase())))

/**
 * Joins the two parts of a word that the end of a line divides with a hyphen. The hyphen stays before a capital letter, as in
 * "Rolls-Royce", in an address, and in a compound that the document writes with a hyphen elsewhere.
 */
const joinDividedWords = (page: string, compounds: ReadonlySet<string>): string =>
  page.replace(/([-\u2010\u00AD])[^\S\n]*\n[^\S\n]*/g, (divided, hyphen: string, offset: number) => {
    const before =
      page
        .slice(Math.max(0, offset - longestWord), offset)
        .split(/\s/)
        .at(-1) ?? ""
    const left = before.split(/[^\p{L}]/u).at(-1) ?? ""
    const right = /^\p{L}+/u.exec(page.slice(offset + divided.length, offset + divided.length + longestWord))?.[0] ?? ""
    if (left === "" || right === "") return divided
    if (hyphen === "\u00AD") return ""
    const isCompound = /^\p{Lu}/u.test(right) || /[/@]/.test(before) || compounds.has(`${left}-${right}`.toLowerCase())
    return isCompound ? hyphen : ""
  })

/** In characters. */
const longestWord = 100

// Reading on workers: the content of a document can make its reader use any amount of time and memory, and on a worker only that document
// fails. Plain text is decoded in the caller's thread, piece by piece, in linear time.

/** Like `streamDocument`, on the pool in the context. Without one, the caller's thread reads. */
export const streamOnWorkers = <E, R>(
  source: DocumentSource,
  bytes: Stream.Stream<Uint8Array, E, R>,
  notes: ReadingNotes = {},
): Stream.Stream<string, E | ReadError, R> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const format = yield* formatOf(source)
      const pool = yield* WorkerPool.inContext
      if (Option.isNone(pool) || format === "txt") return streamDocument(source, bytes, notes)
      const reading = new ReadingWorkers(pool.value, source.name, format)
      if (format === "csv") {
        const parts = reading.csv(decodeStream(source.name, bytes, notes.encoding ?? ignored))
        return notEmpty(source.name, Stream.flatMap(inOneText(parts, notes), inPieces))
      }
      const whole = Effect.gen(function* () {
        const read = yield* reading.whole(source, yield* collect(source.name, format, bytes))
        yield* noted(read, notes)
        return read.text
      })
      return Stream.flatMap(Stream.fromEffect(whole), inPieces)
    }),
  )

/** The places in the source that spans of a document's text come from. Without a pool, the caller's thread reads. */
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

  csv<E, R>(text: Stream.Stream<string, E, R>): Stream.Stream<ReadCsvOutput, E | ReadError, R> {
    return Stream.suspend(() => {
      let at = csvStart
      return Stream.mapEffect(csvBatches(this.#source, text), (batch) =>
        Effect.map(this.#ask<ReadCsvOutput>("document.csv", { source: this.#source, batch, at } satisfies ReadCsvInput), (read) => {
          at = read.next
          return read
        }),
      )
    })
  }

  /** Runs a task on the pool. `A` is the output of that task. */
  #ask<A>(task: "document.read" | "document.csv" | "document.places", input: unknown): Effect.Effect<A, ReadError> {
    return this.#pool.run(task, input, undefined, { limit: this.#pool.limits.document }).pipe(
      Effect.mapError((error) => this.#failure(error)),
      Effect.flatMap((outcome) => fromOutcome(ReadError, outcome as Outcome<A>)),
    )
  }

  #failure(error: WorkerError): ReadError {
    // An exception that the reader does not expect, such as a stack overflow.
    if (error._tag === "TaskFailed") return new DocumentMalformed({ source: this.#source, format: this.#format, problem: error.problem })
    const problem = error._tag === "LimitExceeded" ? `reading it was stopped, since ${error.problem}` : `its reader ended: ${error.problem}`
    return new DocumentSetAside({ source: this.#source, problem, setting: "contentLimits.document" })
  }
}

/** In characters. Callers process a text piece by piece, so that they yield to the event loop in between. */
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
  readonly records: ReadonlyArray<FoundRecord>
  readonly encoding: Encoding | undefined
  /** The language that the document declares. */
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
  readonly records: ReadonlyArray<FoundRecord>
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
    Effect.map(readCsvBatch(source, batch, at), ({ records, next }): ReadCsvOutput => {
      const read = csvReading(records, "utf-8")
      return { text: read.text, records: read.records, next }
    }),
  )

/** The tasks of a worker: `document.read`, `document.csv` and `document.places`. */
export const tasks = {
  read: documentText,
  csv: csvText,
  places: (input: ReadPlacesInput) => outcomeOf(ReadError, placesInDocument(input)),
}
