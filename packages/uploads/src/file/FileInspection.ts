/** Inspects a file before its items are read: whether it exists, its size, its encoding and its layout. */

import { createGunzip } from "node:zlib"
import { releasing } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import { CollectionLimit, collecting } from "./Collected.ts"
import { FileBytes } from "./FileBytes.ts"
import { FileInvalid, type FileProblem, FileTooLarge, FileUnreadable, UnsupportedContentType } from "./FileProblem.ts"
import type { FileStamp, UploadFiles } from "./UploadFiles.ts"
import type { UploadLimits } from "./UploadLimits.ts"

export interface FileInspection extends FileStamp {
  readonly packed: boolean
  readonly contentType: string
}

/** Inspects a file and its first bytes. */
export const inspect = (
  files: UploadFiles,
  path: string,
  name: string,
  limits: UploadLimits,
  contentType?: string,
): Effect.Effect<FileInspection, FileProblem> =>
  Effect.gen(function* () {
    yield* checkContentType(name, contentType)
    const stamp = yield* reading(name, () => files.stamp(path))
    if (stamp.fileSize > limits.maxFileBytes) {
      return yield* Effect.fail(new FileTooLarge({ file: name, bytes: stamp.fileSize, limit: limits.maxFileBytes, what: "file" }))
    }
    if (stamp.fileSize === 0) return yield* Effect.fail(new FileInvalid({ file: name, problem: "it is empty" }))
    const head = yield* reading(name, () => firstBytes(files, path))
    const packed = head[0] === 0x1f && head[1] === 0x8b
    const text = packed ? yield* unpackedHead(name, head) : head
    const layout = layoutOf(text)
    if (layout === undefined) {
      const shown = contentType !== undefined && !isJson(contentType) ? contentType : "neither an array nor lines of JSON"
      return yield* Effect.fail(new UnsupportedContentType({ file: name, contentType: shown }))
    }
    const found = layout === "array" ? "application/json" : "application/x-ndjson"
    return { ...stamp, packed, contentType: isJson(contentType) ? contentType : found }
  })

/** Refuses a file that is declared to be neither JSON nor gzip. */
export const checkContentType = (file: string, contentType: string | undefined): Effect.Effect<void, UnsupportedContentType> =>
  contentType === undefined || isAccepted(contentType) ? Effect.void : Effect.fail(new UnsupportedContentType({ file, contentType }))

export interface HashedFile {
  readonly md5: string
  /** The hashed bytes, if they were collected. */
  readonly chunks: ReadonlyArray<Uint8Array> | undefined
}

/** The MD5 of a file, and its bytes if they fit into `keptLimit`. */
export const md5Of = (
  files: UploadFiles,
  path: string,
  name: string,
  limits: UploadLimits,
  keptLimit = new CollectionLimit(0),
): Effect.Effect<HashedFile, FileProblem> =>
  Effect.scoped(
    Effect.gen(function* () {
      const bytes = yield* Effect.acquireRelease(
        Effect.sync(() => new FileBytes({ files, path, name, packed: false, limits })),
        (one) => releasing(path, () => one.close()),
      )
      const kept = yield* collecting<Uint8Array>(keptLimit)
      yield* Effect.tryPromise({
        try: async (signal) => {
          for (let chunk = await bytes.next(); !signal.aborted && chunk !== undefined; chunk = await bytes.next())
            kept.add(chunk, chunk.length)
        },
        catch: (cause) => cause as FileProblem,
      })
      return { md5: bytes.md5(), chunks: kept.parts }
    }),
  )

const isJson = (contentType: string | undefined): contentType is string => contentType?.toLowerCase().includes("json") === true

const isAccepted = (contentType: string): boolean =>
  isJson(contentType) || /^(application\/(x-)?gzip|application\/octet-stream)\s*(;|$)/i.test(contentType)

const reading = <A>(file: string, read: () => Promise<A>): Effect.Effect<A, FileUnreadable> =>
  Effect.tryPromise({
    try: read,
    catch: (cause) => {
      const { code, message } = cause as { readonly code?: string; readonly message?: string }
      return new FileUnreadable({ file, problem: code === "ENOENT" ? "there is no such file" : String(message), while: "reading" })
    },
  })

const headBytes = 64 * 1024

const firstBytes = async (files: UploadFiles, path: string): Promise<Buffer> => {
  const file = await files.open(path)
  try {
    const chunks: Array<Buffer> = []
    let size = 0
    for await (const chunk of file.read(0)) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= headBytes) break
    }
    return Buffer.concat(chunks).subarray(0, headBytes)
  } finally {
    await file.close()
  }
}

/** The first unpacked chunk of a gzip file, from its first bytes. */
const unpackedHead = (file: string, head: Buffer): Effect.Effect<Buffer, FileInvalid> =>
  Effect.callback((resume) => {
    const unpacking = createGunzip()
    unpacking.once("data", (chunk: Buffer) => resume(Effect.succeed(chunk)))
    unpacking.once("end", () => resume(Effect.succeed(Buffer.alloc(0))))
    unpacking.once("error", (error) =>
      resume(Effect.fail(new FileInvalid({ file, problem: `it is gzip and cannot be unpacked: ${error.message}` }))),
    )
    unpacking.end(head)
    return Effect.sync(() => unpacking.destroy())
  })

const layoutOf = (text: Buffer): "array" | "lines" | undefined => {
  const start = text
    .toString("latin1")
    .replace(/^\u00ef\u00bb\u00bf/, "")
    .trimStart()
  // The text has only white space so far: the item splitter decides later.
  if (start === "" || start.startsWith("[")) return "array"
  return start.startsWith("{") ? "lines" : undefined
}
