/**
 * Keeps the content of files for the next stage, so that a file is read once: the hashed bytes for validation, and the validated
 * items for extraction. It is only a cache: the next stage reads missing or mismatched content from the file.
 */

import type { FileStamp } from "@detent/tables"
import { CollectionLimit } from "../file/Collected.ts"
import type { Page } from "./Page.ts"

/** The content of a file, in the order it was read. */
export interface KeptBytes extends FileStamp {
  readonly md5: string
  readonly chunks: ReadonlyArray<Uint8Array>
}

/** All items of a file. */
export interface KeptPages {
  readonly md5: string
  /** The caller that takes the pages owns them, and removes each stored page to free its memory. */
  readonly pages: Array<Page>
  /** Bytes of text that the pages were read from. */
  readonly bytes: number
}

export class ReadOnce {
  readonly #limit: number
  /** The limit of content that is being read. */
  readonly collecting: CollectionLimit
  /** By batch, oldest first. */
  readonly #bytes = new Map<string, KeptBytes>()
  readonly #pages = new Map<string, KeptPages>()

  /** `limit`: bytes of text, for all files together. */
  constructor(limit: number) {
    this.#limit = limit
    this.collecting = new CollectionLimit(limit)
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

  /** Drops the oldest entries until the rest fits. Another process may own their batches by now. */
  #drop<A>(kept: Map<string, A>, sizeOf: (one: A) => number) {
    let size = [...kept.values()].reduce((sum, one) => sum + sizeOf(one), 0)
    for (const [batchId, one] of kept) {
      if (size <= this.#limit) return
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
