/** Sorted lines in a file that has no name: it is deleted as soon as it is open, and gone for good when it is closed. */
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

export type Batches = Iterable<ReadonlyArray<string>> | AsyncIterable<ReadonlyArray<string>>

export interface Part {
  /** Once, before it is read. */
  readonly write: (batches: Batches) => Promise<void>
  /** The lines from the beginning, a buffer at a time. */
  readonly lines: () => AsyncGenerator<ReadonlyArray<string>>
  /** May be called more than once. */
  readonly close: () => Promise<void>
}

const bufferSize = 64 * 1024

export const openPart = async (folder = tmpdir()): Promise<Part> => {
  const handle = await openUnnamed(folder)
  let isOpen = true
  return {
    write: (batches) => writeLines(handle, batches),
    lines: () => readLines(handle),
    close: async () => {
      if (!isOpen) return
      isOpen = false
      await handle.close()
    },
  }
}

const writeLines = async (handle: FileHandle, batches: Batches): Promise<void> => {
  let buffered = ""
  for await (const lines of batches) {
    for (const line of lines) {
      buffered += `${line}\n`
      if (buffered.length < bufferSize) continue
      await writeAll(handle, buffered)
      buffered = ""
    }
  }
  await writeAll(handle, buffered)
}

const openUnnamed = async (folder: string): Promise<FileHandle> => {
  const home = await mkdtemp(join(folder, "detent-sort-"))
  try {
    return await open(join(home, "part"), "wx+")
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

const writeAll = async (handle: FileHandle, text: string): Promise<void> => {
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length; ) written += (await handle.write(bytes, written)).bytesWritten
}

async function* readLines(handle: FileHandle): AsyncGenerator<ReadonlyArray<string>> {
  const decoder = new TextDecoder()
  const bytes = new Uint8Array(bufferSize)
  let rest = ""
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(bytes, 0, bufferSize, position)
    if (bytesRead === 0) return
    position += bytesRead
    const lines = (rest + decoder.decode(bytes.subarray(0, bytesRead), { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    if (lines.length > 0) yield lines
  }
}
