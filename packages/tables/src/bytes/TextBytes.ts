/** The text of a file as UTF-8, whatever its encoding. Every chunk holds whole characters. */
import { isUtf8, transcode } from "node:buffer"
import type { Encoding } from "../TableFormat.ts"
import { FileInvalid } from "../TableProblem.ts"
import { type BytesOptions, FileBytes } from "./FileBytes.ts"

export interface TextOptions extends BytesOptions {
  readonly encoding: Encoding
}

export class TextBytes {
  readonly bytes: FileBytes
  readonly #name: string
  readonly #encoding: Encoding
  readonly #decoder: TextDecoder | undefined
  /** Text before this offset that is still to be skipped. */
  #skip: number
  /** The first bytes of a character whose other bytes have not arrived. */
  #carry: Buffer = Buffer.alloc(0)
  /** Bytes of the encoded text before the current chunk. */
  #before: number
  #isEnded = false

  constructor({ encoding, offset = 0, ...options }: TextOptions) {
    this.#name = options.file.name
    this.#encoding = encoding
    const isUtf = encoding === "utf-8"
    this.#decoder = encoding === "utf-8" || encoding === "latin-1" ? undefined : new TextDecoder(encoding, { fatal: true, ignoreBOM: true })
    // Offsets are those of the UTF-8 text: text in another encoding is read from its start.
    this.#skip = isUtf ? 0 : offset
    this.#before = isUtf ? offset : 0
    this.bytes = new FileBytes({ ...options, offset: isUtf ? offset : 0, unhashed: options.unhashed === true || offset > 0 })
  }

  /** The next text; undefined at the end. Rejects with a {@link TableProblem}. */
  async next(): Promise<Buffer | undefined> {
    while (!this.#isEnded) {
      const chunk = await this.bytes.next()
      if (chunk === undefined) this.#isEnded = true
      const text = chunk === undefined ? this.#last() : this.#decode(chunk)
      this.#before += chunk?.length ?? 0
      if (text.length <= this.#skip) {
        this.#skip -= text.length
        continue
      }
      const skipped = this.#skip
      this.#skip = 0
      return skipped === 0 ? text : text.subarray(skipped)
    }
    return undefined
  }

  #decode(chunk: Buffer): Buffer {
    if (this.#encoding === "latin-1") return transcode(chunk, "latin1", "utf8") as Buffer
    if (this.#decoder !== undefined) return this.#decoded(this.#decoder, chunk)
    const whole = this.#carry.length === 0 ? chunk : Buffer.concat([this.#carry, chunk])
    const carried = this.#carry.length
    const end = whole.length - unfinishedBytes(whole)
    const text = whole.subarray(0, end)
    if (!isUtf8(text)) this.#fail(this.#before - carried + validBytes(text))
    // A copy, so that the chunk can be freed.
    this.#carry = Buffer.from(whole.subarray(end))
    return text
  }

  #decoded(decoder: TextDecoder, chunk?: Buffer): Buffer {
    try {
      return Buffer.from(chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true }))
    } catch {
      return this.#fail(this.#before)
    }
  }

  #last(): Buffer {
    if (this.#decoder !== undefined) return this.#decoded(this.#decoder)
    if (this.#carry.length > 0) this.#fail(this.#before - this.#carry.length)
    return this.#carry
  }

  #fail(offset: number): never {
    const isUtf = this.#encoding === "utf-8"
    const next = isUtf
      ? "say which encoding it has, such as windows-1252, and upload it again"
      : "say which encoding it has, or save it as UTF-8, and upload it again"
    throw new FileInvalid({
      file: this.#name,
      problem: `it is not ${this.#encoding} text`,
      place: { offset },
      next: `nothing of it was taken; ${next}`,
    })
  }
}

/** How many bytes at the end begin a character that is not complete. */
const unfinishedBytes = (bytes: Buffer): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if (byte < 0x80) return 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
  }
  return 0
}

/** How many bytes are valid: the place of the first byte that is not. */
const validBytes = (bytes: Buffer): number => {
  let low = 0
  let high = bytes.length
  while (high - low > 16) {
    const middle = (low + high) >> 1
    const part = bytes.subarray(low, middle)
    const end = middle - unfinishedBytes(part)
    if (end > low && isUtf8(bytes.subarray(low, end))) low = end
    else high = middle
  }
  while (low < high && isValidStart(bytes, low)) low += characterBytes(bytes[low] as number)
  return Math.min(low, bytes.length)
}

const characterBytes = (byte: number): number => (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1)

const isValidStart = (bytes: Buffer, at: number): boolean => isUtf8(bytes.subarray(at, at + characterBytes(bytes[at] as number)))
