/**
 * The files of a data folder, copied to another one: uploaded files, artifacts of runs, graphs, documents and ontologies. A file is
 * there whole or not at all. Started again, the copy passes over what is there with the same content. Every file is read back, and
 * its SHA-256 is compared with the source's.
 */
import { createHash } from "node:crypto"
import { createReadStream, createWriteStream, existsSync } from "node:fs"
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { dirname, join, relative, resolve } from "node:path"
import { pipeline } from "node:stream/promises"
import { CopyFailed, CopyRefused } from "@detent/durable/DatabaseCopy"
import * as Effect from "effect/Effect"

export interface FilesRequest {
  /** The data folders. */
  readonly from: string
  readonly to: string
  /** Whether processes work in the source: files may be removed and written meanwhile. Default: false. */
  readonly isLive?: boolean
  readonly onFile: (progress: FileProgress) => Effect.Effect<void>
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

/** What the systems keep in files. Locks, names of nodes and the address of a server belong to the folder they are in. */
const folders = ["uploads", "batches", "canonical", "documents", "ontologies", "runs", "settings", "workflow-state"]

/** The folders whose documents may be read: batches that resume read them. */
const single = ["sources.json"]

export const copyFiles = ({ from, to, isLive = false, onFile }: FilesRequest): Effect.Effect<FilesReport, CopyRefused | CopyFailed> =>
  Effect.gen(function* () {
    const [source, target] = [resolve(from), resolve(to)]
    if (isInside(source, target) || isInside(target, source))
      return yield* new CopyRefused({
        problem: `${target} and ${source} are one folder, or one is in the other`,
        nextStep: "choose another with --to-data",
      })
    const files = yield* trying("the files", () => filesIn(source))
    let bytes = 0
    let kept = 0
    for (const [index, file] of files.entries()) {
      const copied = yield* trying(file, () => (isLive ? copyLiveFile : copyFile)(join(source, file), join(target, file)))
      bytes += copied.bytes
      kept += copied.isKept ? 1 : 0
      yield* onFile({ file, files: index + 1, total: files.length })
    }
    yield* trying("the former folders", () => rememberFolder(source, target))
    return { files: files.length, bytes, kept }
  })

const isInside = (folder: string, path: string): boolean => {
  const rest = relative(folder, path)
  return rest === "" || !rest.startsWith("..")
}

const trying = <A>(part: string, run: () => Promise<A>): Effect.Effect<A, CopyFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => new CopyFailed({ part, cause }) })

/** Paths of all files, in order. Files that are still being received are left out. */
const filesIn = async (source: string): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = single.filter((file) => existsSync(join(source, file)))
  for (const folder of folders.filter((one) => existsSync(join(source, one)))) {
    const entries = await readdir(join(source, folder), { recursive: true, withFileTypes: true })
    for (const entry of entries)
      if (entry.isFile() && !entry.name.endsWith(".part")) found.push(relative(source, join(entry.parentPath, entry.name)))
  }
  return found.toSorted()
}

const copyFile = async (from: string, to: string): Promise<{ readonly bytes: number; readonly isKept: boolean }> => {
  const { size, atimeMs, mtimeMs } = await stat(from)
  const wanted = await digestOf(from)
  if (existsSync(to) && (await stat(to)).size === size && (await digestOf(to)) === wanted) return { bytes: size, isKept: true }
  await mkdir(dirname(to), { recursive: true })
  const partial = `${to}.part`
  try {
    await pipeline(createReadStream(from), createWriteStream(partial))
    await synced(partial)
    const found = await digestOf(partial)
    if (found !== wanted) throw new Error(`its SHA-256 is ${found} in the copy and ${wanted} in the source: it changed meanwhile`)
    // An upload compares the time of its file, in whole milliseconds, with the time that it had when it was validated.
    await utimes(partial, atimeMs / 1000, (Math.floor(mtimeMs) + 0.5) / 1000)
    await rename(partial, to)
  } catch (cause) {
    await rm(partial, { force: true })
    throw cause
  }
  return { bytes: size, isKept: false }
}

/** Of a file that a process works with: one that is removed meanwhile is left out, and one that is written is copied again. */
const copyLiveFile = async (from: string, to: string): ReturnType<typeof copyFile> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await copyFile(from, to)
    } catch (cause) {
      if (!existsSync(from)) return { bytes: 0, isKept: false }
      if (attempt >= 5) throw cause
    }
  }
}

const digestOf = async (path: string): Promise<string> => {
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

/** What is stored names files by their address in the folder that it was stored from: the new folder answers for the former ones. */
const rememberFolder = async (source: string, target: string) => {
  const before = await foldersBefore(source)
  await mkdir(join(target, ".detent"), { recursive: true })
  await writeFile(join(target, ".detent", "former.json"), JSON.stringify([...before, source]))
}

const foldersBefore = async (folder: string): Promise<ReadonlyArray<unknown>> => {
  const file = join(folder, ".detent", "former.json")
  if (!existsSync(file)) return []
  const former: unknown = JSON.parse(await readFile(file, "utf8"))
  return Array.isArray(former) ? former : []
}
