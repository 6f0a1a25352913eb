/** Plain text is read as it is, of any size, piece by piece. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { DocumentEmpty } from "./ReadError.ts"
import type { Reading } from "./Reading.ts"
import { type DecodingError, type Encoding, startDecoding } from "./TextDecoding.ts"

export interface DecodedText {
  readonly text: string
  readonly encoding: Encoding
}

/** All at once. */
export const decodeBytes = (source: string, bytes: Uint8Array): Result.Result<DecodedText, DecodingError> => {
  const decoding = startDecoding(source)
  return Result.gen(function* () {
    const start = yield* decoding.push(bytes)
    const end = yield* decoding.end()
    return { text: start + end, encoding: decoding.encoding() }
  })
}

/** As the bytes come. `found` is told the encoding when everything was read. */
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

/** Fails at the end when all of it was white space. */
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

export const readPlainText = ({ text, encoding }: DecodedText): Reading => ({
  text,
  segments: text === "" ? [] : [{ start: 0, end: text.length, place: { _tag: "Characters", start: 0, end: text.length } }],
  encoding,
})
