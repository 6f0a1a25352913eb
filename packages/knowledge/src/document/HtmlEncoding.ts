/** A page may say itself how it is written, and then it is believed, unless it begins with a mark that says otherwise. */
import * as Result from "effect/Result"
import { type DecodedText, decodeBytes } from "./PlainText.ts"
import { DocumentWronglyEncoded } from "./ReadError.ts"
import type { DecodingError } from "./TextDecoding.ts"

export const decodeHtml = (source: string, bytes: Uint8Array): Result.Result<DecodedText, DecodingError> => {
  const declared = declaredEncoding(bytes)
  if (declared === undefined || hasMark(bytes) || /^utf-?8$/i.test(declared)) return decodeBytes(source, bytes)
  const decoder = decoderFor(declared)
  if (decoder === undefined) {
    return Result.fail(new DocumentWronglyEncoded({ source, problem: `it says it is written in ${declared}, which is not known` }))
  }
  // Windows wrote its own letters under this name, and so does everybody since.
  if (decoder.encoding === "windows-1252") return decodeBytes(source, bytes)
  try {
    return Result.succeed({ text: decoder.decode(bytes), encoding: `declared ${decoder.encoding}` })
  } catch {
    // The decoder says no more than that it failed.
    return Result.fail(new DocumentWronglyEncoded({ source, problem: `it says it is written in ${declared}, but is not` }))
  }
}

const declaredEncoding = (bytes: Uint8Array): string | undefined =>
  /<meta[^>]+charset\s*=\s*["']?\s*([A-Za-z0-9_:-]+)/i.exec(Buffer.from(bytes.subarray(0, 2048)).toString("latin1"))?.[1]

const hasMark = (bytes: Uint8Array): boolean =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff) || (bytes[0] === 0xef && bytes[1] === 0xbb)

const decoderFor = (label: string): TextDecoder | undefined => {
  try {
    return new TextDecoder(label, { fatal: true })
  } catch {
    // A label the platform does not know.
    return undefined
  }
}
