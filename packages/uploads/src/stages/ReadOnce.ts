/**
 * Keeps the content of files for the next stage, so that a file is read once: the bytes that were hashed for validation, and
 * the items that were validated for extraction. It is only a cache: missing or mismatched content is read from the file.
 */

import type { Position } from "../file/RawItem.ts"
import type { FileStamp } from "../file/UploadFiles.ts"
import type { Page } from "./Page.ts"

/** The content of a file, in the order it was read. */
export interface KeptBytes extends FileStamp {
  readonly md5: string
  readonly chunks: ReadonlyArray<Uint8Array>
}

/** The first items of a file. */
export interface KeptPages {
  readonly md5: string
  /** The caller that takes them owns them, and removes each once it is stored, which frees its memory. */
  readonly pages: Array<Page>
  /** Where the file continues behind them. */
  readonly end: Position
  /** Bytes of text they were read from. */
  readonly bytes: number
}

export class ReadOnce {
  readonly limit: number
  /** By batch, the oldest first. */
  readonly #bytes = new Map<string, KeptBytes>()
  readonly #pages = new Map<string, KeptPages>()

  /** `limit` is in bytes of text, for all files together. */
  constructor(limit: number) {
    this.limit = limit
  }

  keepBytes(batchId: string, kept: KeptBytes) {
    this.#bytes.set(batchId, kept)
    this.#drop(this.#bytes, ({ fileSize }) => fileSize)
  }

  takeBytes(batchId: string): KeptBytes | undefined {
    return taken(this.#bytes, batchId)
  }

  keepPages(batchId: string, kept: KeptPages) {
    this.#pages.set(batchId, kept)
    this.#drop(this.#pages, ({ bytes }) => bytes)
  }

  takePages(batchId: string): KeptPages | undefined {
    return taken(this.#pages, batchId)
  }

  /** Forgets the oldest until the rest fits. Another process may have taken over their batches. */
  #drop<A>(kept: Map<string, A>, sizeOf: (one: A) => number) {
    let size = [...kept.values()].reduce((sum, one) => sum + sizeOf(one), 0)
    for (const [batchId, one] of kept) {
      if (size <= this.limit) return
      kept.delete(batchId)
      size -= sizeOf(one)
    }
  }
}

const taken = <A>(kept: Map<string, A>, batchId: string): A | undefined => {
  const one = kept.get(batchId)
  kept.delete(batchId)
  return one
}
