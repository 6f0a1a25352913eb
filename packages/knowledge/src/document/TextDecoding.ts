/**
 * Decodes bytes to text, piece by piece, and detects their encoding: UTF-16 by its byte order mark, UTF-8, or else Latin-1 as
 * Windows writes it. ASCII is the same in UTF-8 and Latin-1, so the first byte beyond ASCII decides: a document that continues in
 * another encoding is refused as broken.
 */
import { isAscii, isUtf8 } from "node:buffer"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { DocumentBinary, DocumentEmpty, DocumentWronglyEncoded } from "./ReadError.ts"

/** `declared`: the encoding that an HTML page declares. */
export type Encoding = "utf-8" | "utf-16le" | "utf-16be" | "latin-1" | `declared ${string}`

export type DecodingError = DocumentBinary | DocumentWronglyEncoded

export interface TextDecoding {
  readonly push: (bytes: Uint8Array) => Result.Result<string, DecodingError>
  readonly end: () => Result.Result<string, DecodingError>
  /** The encoding assumed so far. */
  readonly encoding: () => Encoding
}

export const startDecoding = (source: string): TextDecoding => {
  let state: State | undefined
  let held: Uint8Array = new Uint8Array(0)
  let offset = 0

  const run = (bytes: Uint8Array, isLast: boolean): Result.Result<string, DecodingError> => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes])
    if (state === undefined && held.length < longestMark && !isLast) return Result.succeed("")
    if (state === undefined) {
      const begun = begin(source, held)
      if (Result.isFailure(begun)) return Result.fail(begun.failure)
      state = begun.success.state
      held = held.subarray(begun.success.skip)
      offset = begun.success.skip
    }
    const step = state.decode({ source, bytes: held, offset, isLast })
    if (Result.isFailure(step)) return Result.fail(step.failure)
    offset += held.length - step.success.rest.length
    held = step.success.rest
    state = step.success.state
    return Result.succeed(step.success.text)
  }

  return {
    push: (bytes) => run(bytes, false),
    end: () => run(new Uint8Array(0), true),
    encoding: () => state?.encoding ?? "utf-8",
  }
}

/** How many bytes are read to detect the format of a document. */
const longestMark = 16

interface Input {
  readonly source: string
  readonly bytes: Uint8Array
  /** The offset of the bytes in the document. */
  readonly offset: number
  readonly isLast: boolean
}

interface Output {
  readonly text: string
  /** Bytes that cannot be decoded before more arrive. */
  readonly rest: Uint8Array
  readonly state: State
}

interface State {
  readonly encoding: Encoding
  readonly decode: (input: Input) => Result.Result<Output, DecodingError>
}

const begin = (source: string, bytes: Uint8Array): Result.Result<{ readonly state: State; readonly skip: number }, DecodingError> => {
  const starts = (...mark: ReadonlyArray<number>) => mark.every((byte, index) => bytes[index] === byte)
  if (starts(0xff, 0xfe, 0, 0) || starts(0, 0, 0xfe, 0xff)) {
    return Result.fail(new DocumentWronglyEncoded({ source, problem: "it is encoded in UTF-32, which is not supported" }))
  }
  if (starts(0xff, 0xfe)) return Result.succeed({ state: utf16("utf-16le"), skip: 2 })
  if (starts(0xfe, 0xff)) return Result.succeed({ state: utf16("utf-16be"), skip: 2 })
  if (starts(0xef, 0xbb, 0xbf)) return Result.succeed({ state: utf8, skip: 3 })
  const signature = signatureOf(bytes)
  return signature === undefined
    ? Result.succeed({ state: ascii, skip: 0 })
    : Result.fail(new DocumentBinary({ source, looksLike: signature }))
}

/** All bytes so far were ASCII, which is both UTF-8 and Latin-1. */
const ascii: State = {
  encoding: "utf-8",
  decode: (input) => {
    const binary = binaryProblem(input)
    if (binary !== undefined) return Result.fail(binary)
    const { bytes, isLast } = input
    if (isAscii(bytes)) return Result.succeed({ text: latin1Text(bytes), rest: none, state: ascii })
    const first = bytes.findIndex((byte) => byte >= 0x80)
    const length = sequenceLength(bytes[first] ?? 0)
    const sequence = bytes.subarray(first, first + length)
    if (sequence.length < length && !isLast) {
      return Result.succeed({ text: latin1Text(bytes.subarray(0, first)), rest: bytes.subarray(first), state: ascii })
    }
    const decided = length > 1 && sequence.length === length && isUtf8(sequence) ? utf8 : latin1
    return decided.decode(input)
  },
}

const utf8: State = {
  encoding: "utf-8",
  decode: (input) => {
    const binary = binaryProblem(input)
    if (binary !== undefined) return Result.fail(binary)
    const { source, bytes, offset, isLast } = input
    const whole = isLast ? bytes.length : completeLength(bytes)
    const body = bytes.subarray(0, whole)
    if (!isUtf8(body)) {
      const at = offset + firstInvalid(body)
      return Result.fail(new DocumentWronglyEncoded({ source, problem: "it begins as UTF-8 but is not valid UTF-8", offset: at }))
    }
    return Result.succeed({ text: Buffer.from(body).toString("utf8"), rest: bytes.subarray(whole), state: utf8 })
  },
}

const latin1: State = {
  encoding: "latin-1",
  decode: (input) => {
    const binary = binaryProblem(input)
    if (binary !== undefined) return Result.fail(binary)
    const { source, bytes, offset } = input
    if (isForeign(bytes)) {
      const at = offset + bytes.findIndex((byte) => byte >= 0x80)
      return Result.fail(new DocumentWronglyEncoded({ source, problem: "it is neither UTF-8 nor a text in Latin letters", offset: at }))
    }
    return Result.succeed({ text: latin1Text(bytes), rest: none, state: latin1 })
  },
}

const utf16 = (encoding: "utf-16le" | "utf-16be"): State => {
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
  const state: State = {
    encoding,
    decode: ({ source, bytes, offset, isLast }) => {
      try {
        return Result.succeed({ text: decoder.decode(bytes, { stream: !isLast }), rest: none, state })
      } catch {
        // The decoder gives no reason.
        return Result.fail(new DocumentWronglyEncoded({ source, problem: "it begins as UTF-16 but is not valid UTF-16", offset }))
      }
    },
  }
  return state
}

const none = new Uint8Array(0)

const binaryProblem = ({ source, bytes, offset }: Input): DocumentBinary | undefined => {
  if (!bytes.includes(0) && !hasManyControls(bytes)) return undefined
  const found = offset === 0 ? looksLike(bytes) : undefined
  return new DocumentBinary({ source, ...(found === undefined ? {} : { looksLike: found }) })
}

const sampleSize = 4096

const hasManyControls = (bytes: Uint8Array): boolean => {
  const sample = bytes.subarray(0, sampleSize)
  let controls = 0
  // Tab to carriage return, and escape, do occur in texts.
  for (const byte of sample) if (byte < 0x20 && !(byte >= 9 && byte <= 13) && byte !== 0x1b) controls++
  return controls > 0 && controls * 10 > sample.length
}

/** Most letters of a Latin-script text are ASCII; most bytes of Cyrillic, Greek or Japanese text in a legacy encoding are not. */
const isForeign = (bytes: Uint8Array): boolean => {
  let letters = 0
  let high = 0
  for (const byte of bytes.subarray(0, 16 * sampleSize)) {
    if (byte >= 0x80) high++
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) letters++
  }
  return high > 20 && high > letters
}

const sequenceLength = (lead: number): number => {
  if (lead >= 0xc2 && lead <= 0xdf) return 2
  if (lead >= 0xe0 && lead <= 0xef) return 3
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 1
}

/** The length without a character that is cut off at the end. */
const completeLength = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) return sequenceLength(byte) > back ? bytes.length - back : bytes.length
    if (byte < 0x80) return bytes.length
  }
  return bytes.length
}

const firstInvalid = (bytes: Uint8Array): number => {
  let at = 0
  while (at < bytes.length) {
    const lead = bytes[at] ?? 0
    const length = sequenceLength(lead)
    if ((lead >= 0x80 && length === 1) || !isUtf8(bytes.subarray(at, at + length))) break
    at += length
  }
  return at
}

/** The characters of Windows-1252 where Latin-1 has controls: quotation marks, dashes, the euro. */
const windows = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ"

const latin1Text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("latin1")
    .replace(/[\x80-\x9f]/g, (control) => windows[control.charCodeAt(0) - 0x80] ?? control)

/** The first bytes of formats that are not text, for an error that names them. */
const signatures: ReadonlyArray<readonly [string, string]> = [
  ["255044462d", "a PDF"],
  ["504b0304", "a ZIP archive, as DOCX, XLSX and EPUB are"],
  ["d0cf11e0", "an old Office document"],
  ["89504e47", "a PNG picture"],
  ["ffd8ff", "a JPEG picture"],
  ["474946383961", "a GIF picture"],
  ["474946383761", "a GIF picture"],
  ["1f8b", "a gzip archive"],
  ["7f454c46", "a program"],
  ["4d5a9000", "a program"],
  ["53514c69746520666f726d6174", "an SQLite database"],
]

/** The likely format of bytes that are known not to be text. */
const looksLike = (bytes: Uint8Array): string | undefined =>
  signatureOf(bytes) ?? (isUnmarkedUtf16(bytes) ? "UTF-16 without its byte order mark" : undefined)

/** The format whose signature the bytes begin with. No text begins like that. */
const signatureOf = (bytes: Uint8Array): string | undefined => {
  const start = Buffer.from(bytes.subarray(0, 16)).toString("hex")
  return signatures.find(([signature]) => start.startsWith(signature))?.[1]
}

/** Every other byte is zero, as in English text with two bytes per letter. */
const isUnmarkedUtf16 = (bytes: Uint8Array): boolean => {
  const sample = bytes.subarray(0, 200)
  const zeros = [0, 1].map((parity) => sample.filter((byte, index) => index % 2 === parity && byte === 0).length)
  return sample.length >= 4 && Math.max(...zeros) * 2 >= sample.length * 0.8 && Math.min(...zeros) === 0
}

export interface DecodedText {
  readonly text: string
  readonly encoding: Encoding
}

/** Decodes a whole document. */
export const decodeBytes = (source: string, bytes: Uint8Array): Result.Result<DecodedText, DecodingError> => {
  const decoding = startDecoding(source)
  return Result.gen(function* () {
    const start = yield* decoding.push(bytes)
    const end = yield* decoding.end()
    return { text: start + end, encoding: decoding.encoding() }
  })
}

/** Decodes a stream of bytes. `found` receives the encoding when everything was read. */
export const decodeStream = <E, R>(
  source: string,
  bytes: Stream.Stream<Uint8Array, E, R>,
  found: (encoding: Encoding) => Effect.Effect<void> = () => Effect.void,
): Stream.Stream<string, E | DecodingError, R> =>
  Stream.suspend(() => {
    const decoding = startDecoding(source)
    const rest = Effect.suspend(() => Effect.fromResult(decoding.end())).pipe(Effect.tap(() => found(decoding.encoding())))
    return Stream.mapEffect(bytes, (piece) => Effect.fromResult(decoding.push(piece))).pipe(Stream.concat(Stream.fromEffect(rest)))
  })

/** Fails at the end when the text was only white space. */
export const notEmpty = <E, R>(source: string, text: Stream.Stream<string, E, R>): Stream.Stream<string, E | DocumentEmpty, R> =>
  Stream.suspend(() => {
    let hasText = false
    const watched = Stream.map(text, (piece) => {
      hasText ||= piece.trim() !== ""
      return piece
    })
    const check = Effect.suspend(() => (hasText ? Effect.void : Effect.fail(new DocumentEmpty({ source, format: "txt" }))))
    return Stream.concat(watched, Stream.fromEffectDrain(check))
  })
