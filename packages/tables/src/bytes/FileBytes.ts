/**
 * Reads the bytes of a file on demand, unpacks gzip and zstd, and computes the MD5. Nothing is read ahead of the caller, so a slow store
 * slows down the reading: backpressure.
 */
import { createHash, type Hash } from "node:crypto"
import { Readable, type Transform } from "node:stream"
import { createGunzip, createZstdDecompress } from "node:zlib"
import type { FileStamp, OpenedFile, TableFile } from "../TableFile.ts"
import type { Compression } from "../TableFormat.ts"
import type { TableLimits } from "../TableLimits.ts"
import { FileInvalid, FileTooLarge, FileUnreadable, isTableProblem, type TableProblem } from "../TableProblem.ts"
import { UnpackLimit } from "./UnpackLimit.ts"

/** The size of unpacked chunks. */
const chunkBytes = 256 * 1024

export interface BytesOptions {
  readonly file: TableFile
  readonly compression: Compression
  readonly limits: TableLimits
  /** Skips the text before this offset. A packed file is unpacked from its start for that. */
  readonly offset?: number
  /** Whether the caller needs no hash. Default: false. */
  readonly unhashed?: boolean
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
    const { compression, offset = 0, unhashed = false } = options
    this.#hash = offset === 0 && !unhashed ? createHash("md5") : undefined
    this.#chunks = compression === "none" ? this.#raw(offset) : this.#unpacked(offset, compression)
  }

  /** The next bytes; undefined at the end. Rejects with a {@link TableProblem}. */
  async next(): Promise<Buffer | undefined> {
    try {
      const { value, done } = await this.#chunks.next()
      return done === true ? undefined : value
    } catch (cause) {
      throw fileProblem(this.#options.file.name, cause)
    }
  }

  /** The MD5 of the file, once it has been read from its start to its end; empty otherwise. */
  md5(): string {
    return this.#hash?.copy().digest("hex") ?? ""
  }

  /** The current size and time of the file. Rejects with a {@link TableProblem}. */
  async stamp(): Promise<FileStamp> {
    try {
      return await (await this.#open()).stamp()
    } catch (cause) {
      throw fileProblem(this.#options.file.name, cause)
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
    // If the file could not be opened, the read has already failed.
    const file = await this.#file?.catch(() => undefined)
    await file?.close()
  }

  #open(): Promise<OpenedFile> {
    this.#file ??= this.#options.file.open()
    return this.#file
  }

  async *#raw(offset: number): AsyncGenerator<Buffer, undefined> {
    const { file, limits } = this.#options
    const opened = await this.#open()
    for await (const chunk of opened.read(offset)) {
      this.readBytes += chunk.length
      if (this.readBytes + offset > limits.maxFileBytes)
        throw new FileTooLarge({ file: file.name, what: "file", bytes: this.readBytes + offset, limit: limits.maxFileBytes })
      this.#hash?.update(chunk)
      yield chunk
    }
    return undefined
  }

  async *#unpacked(offset: number, compression: "gzip" | "zstd"): AsyncGenerator<Buffer, undefined> {
    const { file, limits } = this.#options
    const source = Readable.from(this.#raw(0), { objectMode: false })
    const unpacking = unpackingOf(compression)
    source.on("error", (error) => unpacking.destroy(error))
    const limit = new UnpackLimit(file.name, limits, () => this.readBytes)
    let bytes = 0
    try {
      for await (const chunk of source.pipe(unpacking) as AsyncIterable<Buffer>) {
        limit.add(chunk.length)
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
}

export const unpackingOf = (compression: "gzip" | "zstd"): Transform =>
  compression === "gzip" ? createGunzip({ chunkSize: chunkBytes }) : createZstdDecompress({ chunkSize: chunkBytes })

/** The problem of a file for an error while it is read. */
export const fileProblem = (file: string, cause: unknown): TableProblem => {
  if (isTableProblem(cause)) return cause
  const { code, message } = cause as { readonly code?: string; readonly message?: string }
  const packing = typeof code === "string" ? packingOf(code) : undefined
  if (packing !== undefined) return new FileInvalid({ file, problem: `it is ${packing} and cannot be unpacked: ${message}` })
  const problem = code === "ENOENT" ? "there is no such file" : (message ?? String(cause))
  return new FileUnreadable({ file, problem, while: "reading" })
}

const packingOf = (code: string): string | undefined => {
  if (code.startsWith("ZSTD_")) return "zstd"
  return code.startsWith("Z_") || code.startsWith("ERR_ZLIB") ? "gzip" : undefined
}
