/** Reads the items of a file a few at a time, from its start or after an item. */
import { releasing } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { FileBytes } from "./FileBytes.ts"
import { FileInvalid, type FileProblem } from "./FileProblem.ts"
import { ItemSplitter } from "./ItemSplitter.ts"
import type { Layout, Position, RawItem } from "./RawItem.ts"
import type { FileStamp, UploadFiles } from "./UploadFiles.ts"
import type { UploadLimits } from "./UploadLimits.ts"

export interface ItemFileOptions {
  readonly files: UploadFiles
  readonly path: string
  /** The name of the file in errors. */
  readonly name: string
  readonly packed: boolean
  readonly limits: UploadLimits
  readonly from?: { readonly layout: Layout; readonly position: Position }
  /** The bytes of the file, if they are in memory. */
  readonly content?: ReadonlyArray<Uint8Array>
}

/** The limit of bytes in memory, plus one item. */
const pageBytes = 4_000_000

export interface ItemFile {
  /** Returns at least one item and at most `limit`, fewer if they are large; none at the end of the file. */
  readonly take: (limit: number) => Effect.Effect<ReadonlyArray<RawItem>, FileProblem>
  /** Bytes of the file read so far, before unpacking. */
  readonly readBytes: () => number
  readonly layout: () => Layout | undefined
  /** The current size and time of the open file, also where another file has taken its name or it was deleted. */
  readonly stamp: Effect.Effect<FileStamp, FileProblem>
  /** The MD5 of the file, once it has been read from its start to its end; empty where its bytes were in memory. */
  readonly md5: () => string
}

/** Opens a file, and closes it with the scope. */
export const openItems = ({
  files,
  path,
  name,
  packed,
  limits,
  from,
  content,
}: ItemFileOptions): Effect.Effect<ItemFile, never, Scope.Scope> =>
  Effect.gen(function* () {
    const resumed = from !== undefined && from.position.index > 0 ? from : undefined
    const offset = resumed?.position.offset ?? 0
    const bytes = yield* Effect.acquireRelease(
      Effect.sync(() => new FileBytes({ files, path, name, packed, limits, offset, ...(content === undefined ? {} : { content }) })),
      (open) => releasing(path, () => open.close()),
    )
    const splitter = new ItemSplitter({
      file: name,
      maxItemBytes: limits.maxItemBytes,
      ...(resumed === undefined ? {} : { from: resumed }),
    })
    let ended = false
    /** Items of the last chunk beyond the requested number: thousands if an item is one digit. */
    let left: ReadonlyArray<RawItem> = []
    const take = async (limit: number): Promise<ReadonlyArray<RawItem>> => {
      let taken = left
      let length = 0
      while (!ended && (taken.length === 0 || (taken.length < limit && length < pageBytes))) {
        const chunk = await bytes.next()
        ended = chunk === undefined
        length += chunk?.length ?? 0
        const more = chunk === undefined ? splitter.end() : splitter.push(chunk)
        taken = taken.length === 0 ? more : [...taken, ...more]
      }
      left = taken.slice(limit)
      return taken.slice(0, limit)
    }
    return {
      take: (limit) => reading(() => take(limit)),
      stamp: reading(() => bytes.stamp()),
      readBytes: () => bytes.readBytes,
      layout: () => splitter.layout,
      md5: () => bytes.md5(),
    }
  })

/** FileBytes and ItemSplitter throw file problems; any other error is a defect of this program. */
const reading = <A>(read: () => Promise<A>): Effect.Effect<A, FileProblem> =>
  Effect.catchDefect(Effect.promise(read), (defect) => (isFileProblem(defect) ? Effect.fail(defect) : Effect.die(defect)))

const isFileProblem = (defect: unknown): defect is FileProblem => {
  if (defect instanceof FileInvalid) return true
  const tag = (defect as { readonly _tag?: unknown } | null | undefined)?._tag
  return tag === "FileTooLarge" || tag === "FileUnreadable"
}
