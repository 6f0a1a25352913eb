/** Inspects a file before its items are read: whether it exists, its size, its format and its hash. */

import { releasing } from "@detent/machine/internal"
import {
  FileBytes,
  type FileStamp,
  type Format,
  inspectTable,
  type TableFile,
  type TableFormat,
  type TableOptions,
  type TableProblem,
  UnsupportedContentType,
} from "@detent/tables"
import * as Effect from "effect/Effect"
import { CollectionLimit, collecting } from "./Collected.ts"
import type { FileProblem } from "./FileProblem.ts"
import type { UploadFiles } from "./UploadFiles.ts"
import { tableLimits, type UploadLimits } from "./UploadLimits.ts"

export interface FileInspection extends FileStamp {
  readonly table: TableFormat
  readonly contentType: string
}

export const tableFile = (files: UploadFiles, path: string, name: string): TableFile => ({ name, open: () => files.open(path) })

/** Inspects a file and its first bytes. */
export const inspect = (
  files: UploadFiles,
  path: string,
  name: string,
  limits: UploadLimits,
  contentType?: string,
  given: TableOptions = {},
): Effect.Effect<FileInspection, FileProblem> =>
  Effect.gen(function* () {
    yield* checkContentType(name, contentType)
    const { format: table, ...stamp } = yield* inspectTable(tableFile(files, path, name), given, tableLimits(limits))
    return { ...stamp, table, contentType: contentTypes[table.format] }
  })

const contentTypes: Readonly<Record<Format, string>> = {
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  json: "application/json",
  "json-lines": "application/x-ndjson",
}

/** Refuses a file that is declared to be neither a table, JSON nor packed. What it is, its bytes tell. */
export const checkContentType = (file: string, contentType: string | undefined): Effect.Effect<void, UnsupportedContentType> =>
  contentType === undefined || isAccepted(contentType) ? Effect.void : Effect.fail(new UnsupportedContentType({ file, contentType }))

/** Browsers call CSV `application/vnd.ms-excel` where Excel is installed. */
const isAccepted = (contentType: string): boolean =>
  /json|csv|spreadsheetml/i.test(contentType) ||
  /^(application\/((x-)?gzip|zstd|octet-stream|vnd\.ms-excel)|text\/(plain|tab-separated-values))\s*(;|$)/i.test(contentType)

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
        Effect.sync(() => new FileBytes({ file: tableFile(files, path, name), compression: "none", limits: tableLimits(limits) })),
        (one) => releasing(path, () => one.close()),
      )
      const kept = yield* collecting<Uint8Array>(keptLimit)
      yield* Effect.tryPromise({
        try: async (signal) => {
          for (let chunk = await bytes.next(); !signal.aborted && chunk !== undefined; chunk = await bytes.next())
            kept.add(chunk, chunk.length)
        },
        catch: (cause) => cause as TableProblem,
      })
      return { md5: bytes.md5(), chunks: kept.parts }
    }),
  )
