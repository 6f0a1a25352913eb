/**
 * Reads a document of any supported kind as plain text. Plain text and CSV may be of any size and are read piece by piece; the
 * others are held in memory and have a limit.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { describe } from "../storage/Describe.ts"
import type { StorageError, StorageService } from "../storage/Storage.ts"
import type { StorageUri } from "../storage/Uri.ts"
import { csvReading, csvRecords, csvRecordText } from "./Csv.ts"
import { decodeHtml, readHtml } from "./Html.ts"
import { readJson } from "./Json.ts"
import { readMarkdown } from "./Markdown.ts"
import {
  DocumentEmpty,
  DocumentEncrypted,
  type DocumentFormat,
  DocumentMalformed,
  DocumentTooLarge,
  FormatUnknown,
  type ReadError,
} from "./ReadError.ts"
import { type Reading, TextBuilder } from "./Reading.ts"
import { type DecodedText, decodeBytes, decodeStream, type Encoding, notEmpty } from "./TextDecoding.ts"

export interface DocumentSource {
  /** A file name or an address: what errors call it. Its ending gives the format. */
  readonly name: string
  /** Where the name has no such ending: `text/html`, or just `html`. */
  readonly contentType?: string
}

/** How many bytes a document may have that is read whole. */
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
  csv: "csv",
  tsv: "csv",
  pdf: "pdf",
}

const byContentType: Readonly<Record<string, DocumentFormat>> = {
  "text/plain": "txt",
  "text/markdown": "md",
  "text/html": "html",
  "application/xhtml+xml": "html",
  "application/json": "json",
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
    if (format === "html") return yield* readHtml(source, yield* Effect.fromResult(decodeHtml(source, bytes)))
    const decoded = yield* Effect.fromResult(decodeBytes(source, bytes))
    if (format === "json") return yield* Effect.fromResult(readJson(source, decoded))
    if (format === "md") return readMarkdown(decoded)
    if (format === "csv") return csvReading(yield* Stream.runCollect(csvRecords(source, Stream.succeed(decoded.text))), decoded.encoding)
    return readPlainText(decoded)
  })

/**
 * The text alone, piece by piece where the format allows. `found` receives the encoding at the end, `declared` the language that the
 * document declares, before any text.
 */
export const streamDocument = <E, R>(
  source: DocumentSource,
  bytes: Stream.Stream<Uint8Array, E, R>,
  found: (encoding: Encoding) => Effect.Effect<void> = () => Effect.void,
  declared: (language: string) => Effect.Effect<void> = () => Effect.void,
): Stream.Stream<string, E | ReadError, R> =>
  Stream.unwrap(
    Effect.map(formatOf(source), (format): Stream.Stream<string, E | ReadError, R> => {
      if (format === "txt") return notEmpty(source.name, decodeStream(source.name, bytes, found))
      if (format === "csv") {
        return notEmpty(source.name, Stream.map(csvRecords(source.name, decodeStream(source.name, bytes, found)), csvRecordText))
      }
      const whole = Effect.flatMap(collect(source.name, format, bytes), (all) => readDocument(source, all)).pipe(
        Effect.tap(({ encoding }) => (encoding === undefined ? Effect.void : found(encoding))),
        Effect.tap(({ language }) => (language === undefined ? Effect.void : declared(language))),
        Effect.map(({ text }) => text),
      )
      return Stream.fromEffect(whole)
    }),
  )

export const collect = <E, R>(
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
  segments: text === "" ? [] : [{ start: 0, end: text.length, place: { _tag: "Characters", start: 0, end: text.length } }],
  encoding,
})

/** A document in storage, whole. */
export const readStored = (
  storage: StorageService,
  uri: StorageUri,
  contentType?: string,
): Effect.Effect<Reading, ReadError | StorageError> => {
  const source = sourceOf(uri, contentType)
  return Effect.gen(function* () {
    const format = yield* formatOf(source)
    const info = yield* storage.info(uri)
    // Before it is fetched: what is too large to be read need not be.
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
  found?: (encoding: Encoding) => Effect.Effect<void>,
): Stream.Stream<string, ReadError | StorageError> => streamDocument(sourceOf(uri, contentType), storage.getStream(uri), found)

const sourceOf = (uri: StorageUri, contentType: string | undefined): DocumentSource => ({
  name: uri,
  ...(contentType === undefined ? {} : { contentType }),
})

/** What a document is called: by its front matter, by a heading at its beginning, or else by its file's name without the ending. */
export const titleOf = (address: string, beginning: string): string => {
  const [first = "", ...rest] = beginning.trimStart().split(/\n[^\S\n]*\n/, 2)
  const named = /^title:[^\S\n]*(\S[^\n]*)$/imu.exec(first)?.[1]
  if (named !== undefined) return tidy(named.replace(/^["'](.*)["']\s*$/u, "$1"))
  return rest.length > 0 && isHeading(first.trim()) ? tidy(first) : fileName(address)
}

/** How much of a text is needed for its title. */
export const titleWithin = 2000

/** One short line that is no sentence and no `key: value`. */
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
      // The library keeps what it is given, and takes no Node buffers: so it is given a copy.
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
      for (const [index, page] of text.entries()) {
        builder.add(page.toWellFormed().trim(), { _tag: "Page", page: index + 1 })
        builder.breakLine(2)
      }
      return builder.build(undefined)
    }),
  )
