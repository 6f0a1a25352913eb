/** Writes files of generated items, of any size, as a stream. */
import { createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createGzip } from "node:zlib"
import type { Layout } from "@detent/tables"
import { type BadKind, type GenerateOptions, generateItems } from "./GeneratedPost.ts"

export interface ItemFileOptions extends GenerateOptions {
  /** One array, or lines. Default: `array`. */
  readonly layout?: Layout
  readonly gzip?: boolean
}

/** The counts of a written file. */
export interface Written {
  readonly items: number
  readonly good: number
  /** Invalid items by their kind of problem. */
  readonly bad: ReadonlyMap<BadKind, number>
  /** The indices of the invalid items. */
  readonly badIndices: ReadonlyMap<number, BadKind>
}

const chunkLength = 128 * 1024

/** Generates the text of a file in pieces. Calls `onItem` with every item. */
export function* generateText(
  options: ItemFileOptions,
  onItem?: (index: number, bad: BadKind | undefined) => void,
): Generator<string, void> {
  const lines = options.layout === "lines"
  let chunk = lines ? "" : "["
  let index = 0
  for (const { text, bad } of generateItems(options)) {
    onItem?.(index, bad)
    chunk += lines ? `${text}\n` : index === 0 ? `\n${text}` : `,\n${text}`
    index++
    if (chunk.length < chunkLength) continue
    yield chunk
    chunk = ""
  }
  yield lines ? chunk : `${chunk}\n]\n`
}

export const writeItemFile = async (path: string, options: ItemFileOptions): Promise<Written> => {
  const bad = new Map<BadKind, number>()
  const badIndices = new Map<number, BadKind>()
  const onItem = (index: number, kind: BadKind | undefined) => {
    if (kind === undefined) return
    bad.set(kind, (bad.get(kind) ?? 0) + 1)
    badIndices.set(index, kind)
  }
  const text = Readable.from(generateText(options, onItem), { objectMode: false, encoding: "utf8" })
  const target = createWriteStream(path)
  await (options.gzip === true ? pipeline(text, createGzip(), target) : pipeline(text, target))
  return { items: options.items, good: options.items - badIndices.size, bad, badIndices }
}
