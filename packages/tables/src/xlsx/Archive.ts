/** The parts of a ZIP archive, such as an XLSX file: each is unpacked as a stream, within limits of bytes and ratio. */
import { Readable } from "node:stream"
import { createInflateRaw } from "node:zlib"
import { UnpackLimit } from "../bytes/UnpackLimit.ts"
import type { OpenedFile } from "../TableFile.ts"
import type { TableLimits } from "../TableLimits.ts"
import { FileInvalid } from "../TableProblem.ts"

interface Part {
  readonly offset: number
  readonly packedBytes: number
  readonly method: number
  readonly isEncrypted: boolean
}

const endSignature = 0x06054b50
const partSignature = 0x02014b50
const localSignature = 0x04034b50
const wideEndSignature = 0x06064b50
const wideLocatorSignature = 0x07064b50

/** The end record, with the longest comment, and the locator before it. */
const tailBytes = 22 + 65_535 + 20

/** The most bytes of the list of parts: an XLSX file has some dozens. */
const mostListBytes = 16_000_000

export class Archive {
  readonly #name: string
  readonly #opened: OpenedFile
  readonly #parts: ReadonlyMap<string, Part>
  readonly #limit: UnpackLimit
  /** Bytes of the file that were unpacked. */
  readBytes = 0

  private constructor(name: string, opened: OpenedFile, parts: ReadonlyMap<string, Part>, limits: TableLimits) {
    this.#name = name
    this.#opened = opened
    this.#parts = parts
    this.#limit = new UnpackLimit(name, limits, () => this.readBytes)
  }

  /** Reads the list of parts. Rejects with {@link FileInvalid} for a file that is no archive. */
  static async open(name: string, opened: OpenedFile, limits: TableLimits): Promise<Archive> {
    const { fileSize } = await opened.stamp()
    const tailStart = Math.max(0, fileSize - tailBytes)
    const tail = await bytesAt(opened, tailStart, fileSize - tailStart)
    const { offset, bytes, count } = await listOf(name, opened, tail)
    if (bytes > mostListBytes || offset + bytes > fileSize) throw damaged(name)
    const list = await bytesAt(opened, offset, bytes)
    const parts = new Map<string, Part>()
    let at = 0
    for (let index = 0; index < count; index++) {
      if (at + 46 > list.length || list.readUInt32LE(at) !== partSignature) throw damaged(name)
      const nameBytes = list.readUInt16LE(at + 28)
      const extraBytes = list.readUInt16LE(at + 30)
      const part = list.toString("utf8", at + 46, at + 46 + nameBytes)
      const extra = list.subarray(at + 46 + nameBytes, at + 46 + nameBytes + extraBytes)
      const wide = wideNumbers(extra, [list.readUInt32LE(at + 24), list.readUInt32LE(at + 20), list.readUInt32LE(at + 42)])
      parts.set(part, {
        offset: wide[2],
        packedBytes: wide[1],
        method: list.readUInt16LE(at + 10),
        isEncrypted: (list.readUInt16LE(at + 8) & 1) === 1,
      })
      at += 46 + nameBytes + extraBytes + list.readUInt16LE(at + 32)
    }
    return new Archive(name, opened, parts, limits)
  }

  has(part: string): boolean {
    return this.#parts.has(part)
  }

  /** Counts text that an unpacked part only refers to. Throws as {@link read} does where that is too much. */
  addText(bytes: number) {
    this.#limit.add(bytes)
  }

  /** The unpacked bytes of a part. */
  async *read(name: string): AsyncGenerator<Buffer, undefined> {
    const part = this.#parts.get(name)
    if (part === undefined) throw damaged(this.#name)
    if (part.isEncrypted) throw new FileInvalid({ file: this.#name, problem: "it is protected by a password", next: "save it without one" })
    if (part.method !== 0 && part.method !== 8) throw damaged(this.#name)
    const head = await bytesAt(this.#opened, part.offset, 30)
    if (head.length < 30 || head.readUInt32LE(0) !== localSignature) throw damaged(this.#name)
    const start = part.offset + 30 + head.readUInt16LE(26) + head.readUInt16LE(28)
    const packed = this.#packed(start, part.packedBytes)
    if (part.method === 0) {
      for await (const chunk of packed) {
        this.#limit.add(chunk.length)
        yield chunk
      }
      return undefined
    }
    const source = Readable.from(packed, { objectMode: false })
    const unpacking = createInflateRaw({ chunkSize: 256 * 1024 })
    source.on("error", (error) => unpacking.destroy(error))
    try {
      for await (const chunk of source.pipe(unpacking) as AsyncIterable<Buffer>) {
        this.#limit.add(chunk.length)
        yield chunk
      }
    } catch (cause) {
      const { code } = cause as { readonly code?: unknown }
      throw typeof code === "string" && code.startsWith("Z_") ? damaged(this.#name) : cause
    } finally {
      source.destroy()
      unpacking.destroy()
    }
    return undefined
  }

  async *#packed(start: number, length: number): AsyncGenerator<Buffer, undefined> {
    let left = length
    if (left === 0) return undefined
    for await (const chunk of this.#opened.read(start)) {
      const some = chunk.subarray(0, left)
      left -= some.length
      this.readBytes += some.length
      yield some
      if (left === 0) return undefined
    }
    throw damaged(this.#name)
  }
}

export const damaged = (file: string): FileInvalid =>
  new FileInvalid({ file, problem: "it is a damaged XLSX file, or no XLSX file", next: "save it again, or save the sheet as CSV" })

/** Where the list of parts is. */
const listOf = async (name: string, opened: OpenedFile, tail: Buffer) => {
  for (let at = tail.length - 22; at >= 0; at--) {
    if (tail.readUInt32LE(at) !== endSignature || at + 22 + tail.readUInt16LE(at + 20) !== tail.length) continue
    const found = { count: tail.readUInt16LE(at + 10), bytes: tail.readUInt32LE(at + 12), offset: tail.readUInt32LE(at + 16) }
    if (found.offset !== 0xffffffff && found.count !== 0xffff) return found
    if (at < 20 || tail.readUInt32LE(at - 20) !== wideLocatorSignature) throw damaged(name)
    const end = await bytesAt(opened, Number(tail.readBigUInt64LE(at - 12)), 56)
    if (end.length < 56 || end.readUInt32LE(0) !== wideEndSignature) throw damaged(name)
    return { count: Number(end.readBigUInt64LE(32)), bytes: Number(end.readBigUInt64LE(40)), offset: Number(end.readBigUInt64LE(48)) }
  }
  throw damaged(name)
}

/** Replaces numbers that do not fit into 32 bits by those of the extra field. */
const wideNumbers = (extra: Buffer, numbers: readonly [number, number, number]): readonly [number, number, number] => {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue
    const end = Math.min(extra.length, at + 4 + extra.readUInt16LE(at + 2))
    let next = at + 4
    const wide = (number: number): number => {
      if (number !== 0xffffffff || next + 8 > end) return number
      next += 8
      return Number(extra.readBigUInt64LE(next - 8))
    }
    return [wide(numbers[0]), wide(numbers[1]), wide(numbers[2])]
  }
  return numbers
}

const bytesAt = async (opened: OpenedFile, start: number, length: number): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  let size = 0
  if (length <= 0) return Buffer.alloc(0)
  for await (const chunk of opened.read(start)) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= length) break
  }
  return Buffer.concat(chunks).subarray(0, length)
}
