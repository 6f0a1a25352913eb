/**
 * Reads the bytes of a file on demand, unpacks gzip, and computes the MD5. Nothing is read ahead of the caller, so a slow store slows
 * down the reading: backpressure.
 */
import { createHash, type Hash } from "node:crypto"
import { Readable } from "node:stream"
import { createGunzip } from "node:zlib"
import { FileInvalid, type FileProblem, FileTooLarge, FileUnreadable } from "./FileProblem.ts"
import type { FileStamp, OpenedFile, UploadFiles } from "./UploadFiles.ts"
import type { UploadLimits } from "./UploadLimits.ts"

/** The size of unpacked chunks. */
const chunkBytes = 256 * 1024

/** Below this many unpacked bytes, the ratio is not checked. */
const ratioFrom = 10_000_000

export interface BytesOptions {
  readonly files: UploadFiles
  readonly path: string
  readonly name: string
  readonly packed: boolean
  readonly limits: UploadLimits
  /** Skips the text before this offset. A gzip file is unpacked from its start for that. */
  readonly offset?: number
  /** The bytes of the file, if they are in memory. Then the file is not read. */
  readonly content?: ReadonlyArray<Uint8Array>
}

export class FileBytes {
  readonly #options: BytesOptions
  #file: Promise<OpenedFile> | undefined = undefined
  readonly #hash: Hash | undefined
  readonly #chunks: AsyncIterator<Buffer>
  /** Bytes of the file itself that have been read. */
  readBytes = 0

  constructor(options: BytesOptions) {
    this.#options = options
    const { packed, offset = 0 } = options
    // For bytes in memory, the caller knows the hash.
    this.#hash = offset === 0 && options.content === undefined ? createHash("md5") : undefined
    this.#chunks = packed ? this.#unpacked(offset) : this.#raw(offset)
  }

  /** The next bytes; undefined at the end. Rejects with a {@link FileProblem}. */
  async next(): Promise<Buffer | undefined> {
    try {
      const { value, done } = await this.#chunks.next()
      return done === true ? undefined : value
    } catch (cause) {
      throw this.#problemOf(cause)
    }
  }

  /** The MD5 of the file, once it has been read from its start to its end. */
  md5(): string {
    return this.#hash?.copy().digest("hex") ?? ""
  }

  /** The current size and time of the file. Rejects with a {@link FileProblem}. */
  async stamp(): Promise<FileStamp> {
    try {
      return await (await this.#open()).stamp()
    } catch (cause) {
      throw this.#problemOf(cause)
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
    // If the file could not be opened, the read has already failed.
    const file = await this.#file?.catch(() => undefined)
    await file?.close()
  }

  #open(): Promise<OpenedFile> {
    this.#file ??= this.#options.files.open(this.#options.path)
    return this.#file
  }

  async *#raw(offset: number): AsyncGenerator<Buffer, undefined> {
    const { name, limits } = this.#options
    for await (const chunk of this.#source(offset)) {
      this.readBytes += chunk.length
      if (this.readBytes + offset > limits.maxFileBytes)
        throw new FileTooLarge({ file: name, what: "file", bytes: this.readBytes + offset, limit: limits.maxFileBytes })
      this.#hash?.update(chunk)
      yield chunk
    }
    return undefined
  }

  #source(offset: number): AsyncIterable<Buffer> {
    const { content } = this.#options
    return content === undefined ? this.#read(offset) : fromMemory(content)
  }

  async *#read(offset: number): AsyncGenerator<Buffer, undefined> {
    const file = await this.#open()
    yield* file.read(offset)
    return undefined
  }

  async *#unpacked(offset: number): AsyncGenerator<Buffer, undefined> {
    const source = Readable.from(this.#raw(0), { objectMode: false })
    const unpacking = createGunzip({ chunkSize: chunkBytes })
    source.on("error", (error) => unpacking.destroy(error))
    let bytes = 0
    try {
      for await (const chunk of source.pipe(unpacking) as AsyncIterable<Buffer>) {
        this.#checkUnpacked(bytes + chunk.length)
        const passedOver = Math.max(0, Math.min(offset - bytes, chunk.length))
        bytes += chunk.length
        if (passedOver < chunk.length) yield passedOver === 0 ? chunk : chunk.subarray(passedOver)
      }
    } finally {
      source.destroy()
      unpacking.destroy()
    }
    return undefined
  }

  /** Limits what a small file can unpack to: a zip bomb would fill the disk and delay all other batches. */
  #checkUnpacked(bytes: number) {
    const { name: file, limits } = this.#options
    if (bytes > limits.maxUnpackedBytes) throw new FileTooLarge({ file, what: "unpacked", bytes, limit: limits.maxUnpackedBytes })
    if (bytes > ratioFrom && bytes > this.readBytes * limits.maxUnpackRatio)
      throw new FileTooLarge({ file, what: "ratio", bytes, limit: limits.maxUnpackRatio })
  }

  #problemOf(cause: unknown): FileProblem {
    if (cause instanceof FileTooLarge) return cause
    const { name: file } = this.#options
    const { code, message } = cause as { readonly code?: string; readonly message?: string }
    const isGzip = typeof code === "string" && (code.startsWith("Z_") || code.startsWith("ERR_ZLIB"))
    if (isGzip) return new FileInvalid({ file, problem: `it is gzip and cannot be unpacked: ${message}` })
    const problem = code === "ENOENT" ? "there is no such file" : (message ?? String(cause))
    return new FileUnreadable({ file, problem, while: "reading" })
  }
}

async function* fromMemory(content: ReadonlyArray<Uint8Array>): AsyncGenerator<Buffer, undefined> {
  for (const chunk of content) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return undefined
}
