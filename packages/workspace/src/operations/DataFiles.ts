/**
 * Copies the files of a data folder to another folder: uploaded files, artifacts of runs, graphs, documents and ontologies. Each file
 * appears in the target complete or not at all. A second run skips files that the target has with the same content. Every file is
 * read back, and its SHA-256 is compared with the source's.
 */
import { createHash } from "node:crypto"
import { createReadStream, createWriteStream, existsSync } from "node:fs"
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { CopyFailed, CopyRefused } from "@detent/durable/DatabaseCopy"
import { privateFile, privateFolder } from "@detent/store/internal"
import * as Effect from "effect/Effect"

export interface FilesRequest {
  /** The data folders. */
  readonly from: string
  readonly to: string
  /** Whether processes work in the source: files may be removed and written meanwhile. Default: false. */
  readonly isLive?: boolean
  readonly onFile: (progress: FileProgress) => Effect.Effect<void>
  /** Called with the SHA-256 of each file that the target has after the copy. */
  readonly onDigest?: (file: string, sha256: string) => Promise<void>
}

export interface FileProgress {
  /** The path in the data folder. */
  readonly file: string
  readonly files: number
  readonly total: number
}

export interface FilesReport {
  readonly files: number
  readonly bytes: number
  /** Files that an earlier run had copied. */
  readonly kept: number
}

/** The folders with the systems' files. Locks, names of nodes and the address of a server are not copied: they belong to one folder. */
const folders = ["uploads", "batches", "canonical", "documents", "ontologies", "runs", "settings", "workflow-state"]

/** `sources.json` lists the folders whose documents may be read: batches that resume need it. */
const single = ["sources.json"]

export const copyFiles = ({
  from,
  to,
  isLive = false,
  onFile,
  onDigest = async () => {},
}: FilesRequest): Effect.Effect<FilesReport, CopyRefused | CopyFailed> =>
  Effect.gen(function* () {
    yield* isFolder(from)
    yield* isFolder(to)
    const [source, target] = [resolve(from), resolve(to)]
    yield* areApart(source, target)
    const files = yield* trying("the files", () => filesIn(source))
    const report = { files: 0, bytes: 0, kept: 0 }
    for (const [index, file] of files.entries()) {
      const copied = yield* trying(file, () => (isLive ? copyLiveFile : copyFile)(join(source, file), join(target, file)))
      if (copied !== undefined) {
        report.files++
        report.bytes += copied.bytes
        report.kept += copied.isKept ? 1 : 0
        yield* trying(file, () => onDigest(file, copied.sha256))
      }
      yield* onFile({ file, files: index + 1, total: files.length })
    }
    yield* trying("the former folders", () => rememberFolder(source, target))
    return report
  })

/** Refuses the address of a bucket: used as a path, it would create a folder with that name on this machine. */
export const isFolder = (location: string): Effect.Effect<void, CopyRefused> =>
  isBucketLocation(location)
    ? Effect.fail(
        new CopyRefused({
          problem: `${location} is not a folder of this machine`,
          nextStep: "name a folder, and copy it to or from the bucket as a whole",
        }),
      )
    : Effect.void

/** Refuses folders of which one is in the other: a copy would contain itself. */
export const areApart = (source: string, target: string): Effect.Effect<void, CopyRefused> =>
  isInside(source, target) || isInside(target, source)
    ? Effect.fail(
        new CopyRefused({
          problem: `${target} and ${source} are one folder, or one is in the other`,
          nextStep: "choose a folder elsewhere",
        }),
      )
    : Effect.void

const isInside = (folder: string, path: string): boolean => {
  const rest = relative(folder, path)
  return rest === "" || !rest.startsWith("..")
}

const trying = <A>(part: string, run: () => Promise<A>): Effect.Effect<A, CopyFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => new CopyFailed({ part, cause }) })

/** Sorted paths of all files, without files that are still being received. */
const filesIn = async (source: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = single.filter((file) => existsSync(join(source, file)))
  for (const folder of folders.filter((one) => existsSync(join(source, one)))) {
    const entries = await readdir(join(source, folder), { recursive: true, withFileTypes: true })
    for (const entry of entries)
      if (entry.isFile() && !entry.name.endsWith(".part")) found.push(relative(source, join(entry.parentPath, entry.name)))
  }
  return found.toSorted()
}

interface CopiedFile {
  readonly bytes: number
  readonly isKept: boolean
  readonly sha256: string
}

const copyFile = async (from: string, to: string): Promise<CopiedFile> => {
  const { size, atimeMs, mtimeMs } = await stat(from)
  const wanted = await digestOf(from)
  if (existsSync(to) && (await stat(to)).size === size && (await digestOf(to)) === wanted)
    return { bytes: size, isKept: true, sha256: wanted }
  await mkdir(dirname(to), { recursive: true, mode: privateFolder })
  const partial = `${to}.part`
  try {
    await pipeline(createReadStream(from), createWriteStream(partial, { mode: privateFile }))
    await synced(partial)
    const found = await digestOf(partial)
    if (found !== wanted) throw new Error(`its SHA-256 is ${found} in the copy and ${wanted} in the source: it changed meanwhile`)
    // An upload compares the modification time of its file, in whole milliseconds, with the time at validation.
    await utimes(partial, atimeMs / 1000, (Math.floor(mtimeMs) + 0.5) / 1000)
    await rename(partial, to)
  } catch (cause) {
    await rm(partial, { force: true })
    throw cause
  }
  return { bytes: size, isKept: false, sha256: wanted }
}

/** Copies a file that other processes may use. A file that is removed meanwhile is skipped; a file that changes is copied again. */
const copyLiveFile = async (from: string, to: string): Promise<CopiedFile | undefined> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyFile(from, to)
    } catch (cause) {
      if (!existsSync(from)) return undefined
      if (attempt >= 5) throw cause
    }
  }
}

export const digestOf = async (path: string): Promise<string> => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(path), hash)
  return hash.digest("hex")
}

const synced = async (path: string) => {
  const file = await open(path, "r+")
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Stored rows name files by their address in the original folder: `former.json` lets the new folder resolve these addresses. */
const rememberFolder = async (source: string, target: string) => {
  const before = await foldersBefore(source)
  await mkdir(join(target, ".detent"), { recursive: true, mode: privateFolder })
  await writeFile(join(target, ".detent", "former.json"), JSON.stringify([...before, source]), { mode: privateFile })
}

const foldersBefore = async (folder: string): Promise<ReadonlyArray<unknown>> => {
  const file = join(folder, ".detent", "former.json")
  if (!existsSync(file)) return []
  const former: unknown = JSON.parse(await readFile(file, "utf8"))
  return Array.isArray(former) ? former : []
}

/** Translates the address of a file in a folder that this data folder was copied from into its address here. */
export const presentAddress = (data: string, address: string): Effect.Effect<string> =>
  Effect.promise(async () => {
    if (isBucketLocation(data) || !address.startsWith("file:")) return address
    const path = fileURLToPath(address)
    const former = (await foldersBefore(data)).find((one) => typeof one === "string" && isInside(one, path))
    return typeof former === "string" ? pathToFileURL(join(resolve(data), relative(former, path))).href : address
  })
