/** A file that can be opened: on this machine, in memory, or in a storage. */
import { type FileHandle, open } from "node:fs/promises"

/** Size and modification time of a file, to detect changes. */
export interface FileStamp {
  readonly fileSize: number
  /** In milliseconds since 1970. */
  readonly modifiedAt: number
}

/** An open file. It stays the same file when another file takes its name. */
export interface OpenedFile {
  readonly read: (start: number) => AsyncIterable<Buffer>
  readonly stamp: () => Promise<FileStamp>
  readonly close: () => Promise<void>
}

export interface TableFile {
  /** The name of the file in errors. Its ending is a hint to its format. */
  readonly name: string
  /** Rejects with the code `ENOENT` where the file does not exist. */
  readonly open: () => Promise<OpenedFile>
}

/** The size of chunks that are read. */
const chunkBytes = 256 * 1024

/** Opens a file of this machine. */
export const openLocalFile = async (path: string): Promise<OpenedFile> => {
  const file = await open(path, "r")
  return {
    read: (start) => fileChunks(file, start),
    stamp: async () => stampOf(await file.stat()),
    close: () => file.close(),
  }
}

/** A stream of Node would close for all later readers of the file when one of them stops early. */
async function* fileChunks(file: FileHandle, start: number): AsyncGenerator<Buffer, undefined> {
  for (let position = start; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, position)
    if (bytesRead === 0) return undefined
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

export const stampOf = ({ size, mtimeMs }: { readonly size: number; readonly mtimeMs: number }): FileStamp => ({
  fileSize: size,
  modifiedAt: Math.floor(mtimeMs),
})

/** A file of this machine. */
export const localFile = (path: string, name = path): TableFile => ({ name, open: () => openLocalFile(path) })

/** A file in memory. */
export const memoryFile = (name: string, chunks: ReadonlyArray<Uint8Array>): TableFile => ({
  name,
  open: () => Promise.resolve(openMemory(chunks)),
})

export const openMemory = (chunks: ReadonlyArray<Uint8Array>): OpenedFile => ({
  read: (start) => memoryChunks(chunks, start),
  stamp: () => Promise.resolve({ fileSize: chunks.reduce((sum, chunk) => sum + chunk.length, 0), modifiedAt: 0 }),
  close: () => Promise.resolve(),
})

async function* memoryChunks(chunks: ReadonlyArray<Uint8Array>, start: number): AsyncGenerator<Buffer, undefined> {
  let before = 0
  for (const chunk of chunks) {
    const from = Math.max(0, start - before)
    before += chunk.length
    if (from < chunk.length) yield Buffer.from(chunk.buffer, chunk.byteOffset + from, chunk.byteLength - from)
  }
  return undefined
}
