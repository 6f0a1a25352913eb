/**
 * Backs up a workspace while processes work in it. The database is copied as one consistent snapshot: on SQLite by its online
 * backup, on PostgreSQL in one read-only transaction of isolation level repeatable read. The copy is a SQLite file in both cases.
 * The files are copied after it: a file is stored before the rows that name it, so no file is missing.
 *
 * A backup is a folder with `detent.db`, `files/`, `files.sha256` with the SHA-256 of each file, in the format of `sha256sum --check`,
 * and `backup.json`, which is written last and holds the SHA-256 of the database and of `files.sha256`.
 */
import { createReadStream, existsSync, readdirSync, statSync } from "node:fs"
import { chmod, copyFile, mkdir, mkdtemp, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve, sep } from "node:path"
import { createInterface } from "node:readline"
import { backup as backupSqlite, DatabaseSync } from "node:sqlite"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import { CopyFailed, CopyRefused, endClaims, storedCopy } from "@detent/durable/DatabaseCopy"
import { hasEnded } from "@detent/durable/internal"
import { releasing } from "@detent/machine/internal"
import { privateFile, privateFolder } from "@detent/store/internal"
import type { AnyUpload } from "@detent/uploads"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import { type Database, databaseOf } from "../Database.ts"
import { dataOf } from "../DataLocation.ts"
import { isUnderRestore, noteIn, restoreNote } from "../RestoreNote.ts"
import { areApart, copyFiles, type FilesReport, isFolder, digestOf as sha256Of } from "./DataFiles.ts"
import { type DataProgress, nameOf, openBoth } from "./data.ts"
import { claim, isHeld, restoringProcess } from "./RestoreClaim.ts"

const Manifest = Schema.Struct({
  /** The version of the backup format. */
  version: Schema.Literal(1),
  createdAt: Schema.String,
  /** The kind of the source database. */
  database: Schema.Literals(["Sqlite", "Postgres"]),
  /** The size of `detent.db`. */
  bytes: Schema.Int,
  sha256: Schema.String,
  /** Undefined where the files are in a bucket. */
  files: Schema.optionalKey(
    Schema.Struct({
      files: Schema.Int,
      bytes: Schema.Int,
      /** The hash of `files.sha256`. Backups of earlier releases have no such list. */
      sha256: Schema.optionalKey(Schema.String),
    }),
  ),
  /** The bucket that the files are in. */
  bucket: Schema.optionalKey(Schema.String),
})
export type BackupManifest = typeof Manifest.Type

const ManifestJson = Schema.fromJsonString(Manifest)

export interface BackupRequest {
  /** `sqlite:PATH` or `postgres://…`. Default: `detent.db` in the data folder. */
  readonly database: string | undefined
  readonly data: string
  /** A folder that is empty or missing. */
  readonly to: string
  readonly onProgress: (progress: DataProgress) => Effect.Effect<void>
}

export const backup = ({ database, data, to, onProgress }: BackupRequest) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* isFolder(to)
      const source = yield* databaseIn(database, data)
      const folder = resolve(to)
      if (!isBucketLocation(data)) yield* areApart(resolve(data), folder)
      if (existsSync(folder) && readdirSync(folder).length > 0)
        return yield* new CopyRefused({ problem: `${folder} is not empty`, nextStep: "name a new folder with --to" })
      if (source._tag === "Sqlite" && !existsSync(source.file))
        return yield* new CopyRefused({ problem: `there is no SQLite database ${source.file}`, nextStep: "correct --data or --database" })
      return yield* Effect.onError(backedUp(source, data, folder, onProgress), () =>
        Effect.logWarning(`${folder} is not a complete backup: remove it, and back up to a new folder`),
      )
    }),
  )

const backedUp = Effect.fnUntraced(function* (source: Database, data: string, folder: string, onProgress: BackupRequest["onProgress"]) {
  yield* trying("the folder of the backup", () => mkdir(folder, { recursive: true, mode: privateFolder }))
  const file = join(folder, "detent.db")
  yield* onProgress({ stage: "copy", part: "the database", rows: 0, total: 1 })
  if (source._tag === "Sqlite") yield* trying("the database", () => onlineBackup(source.file, file))
  else yield* snapshotOf(source, folder, onProgress)
  const files = isBucketLocation(data) ? undefined : yield* listedFiles(data, folder, onProgress)
  const manifest: BackupManifest = {
    version: 1,
    createdAt: DateTime.formatIso(DateTime.makeUnsafe(yield* Clock.currentTimeMillis)),
    database: source._tag,
    ...(yield* trying("the database", () => digestOf(file))),
    ...(files === undefined ? { bucket: data } : { files }),
  }
  yield* trying("backup.json", () => writeDurably(join(folder, "backup.json"), `${Schema.encodeSync(ManifestJson)(manifest)}\n`))
  return manifest
})

export interface RestoreRequest {
  /** The folder of a backup. */
  readonly from: string
  /** `sqlite:PATH` or `postgres://…`, of an empty database. Default: `detent.db` in the data folder. */
  readonly database: string | undefined
  /** A folder without data. */
  readonly data: string
  /** The kinds of uploads of the workspace: they define which words and fields of their items are searched. */
  readonly uploads?: ReadonlyArray<AnyUpload> | undefined
  readonly onProgress: (progress: DataProgress) => Effect.Effect<void>
}

/**
 * Creates a workspace from a backup. The backup and the target are checked before anything is written, and a restore that fails
 * removes everything it wrote. A restore whose process is killed leaves a note in the data folder: running the same restore again
 * resumes it.
 */
export const restore = Effect.fn("backup.restore")(function* ({ from, database, data, uploads = [], onProgress }: RestoreRequest) {
  yield* isFolder(from)
  const folder = resolve(from)
  const manifest = yield* readManifest(folder)
  const target = yield* databaseIn(database, data)
  yield* refuseTarget(manifest, target, data)
  const file = join(folder, "detent.db")
  const found = yield* trying("the database of the backup", () => digestOf(file))
  if (found.sha256 !== manifest.sha256)
    return yield* new CopyRefused({
      problem: `${file} is damaged: its SHA-256 is ${found.sha256}, and backup.json says ${manifest.sha256}`,
      nextStep: "restore another backup",
    })
  if (manifest.files?.sha256 !== undefined) yield* checkFiles(folder, manifest.files.sha256)
  const isPlaced = target._tag === "Sqlite" && manifest.database === "Sqlite"
  const restored = Effect.gen(function* () {
    const place = isPlaced
      ? trying("the database", () => placeDatabase(file, target.file))
      : (yield* rowsInto(file, folder, target, uploads, manifest, noteIn(data) !== undefined, onProgress)).place
    if (!isBucketLocation(data)) {
      const written = target._tag === "Sqlite" ? { file: resolve(target.file) } : {}
      yield* claim(data, { from: folder, createdAt: manifest.createdAt, sha256: manifest.sha256, ...written }, writeDurably)
    }
    const files = manifest.files === undefined ? undefined : yield* copiedFiles(join(folder, "files"), data, false, onProgress)
    yield* onProgress({ stage: "copy", part: "the database", rows: 0, total: 1 })
    yield* place
    if (!isBucketLocation(data)) yield* trying(restoreNote, () => rm(join(data, restoreNote), { force: true }))
    return { ...manifest, files }
  })
  const report = yield* Effect.onError(Effect.scoped(restored), () =>
    releasing("the database of the failed restore", () => removeTarget(target, data)),
  )
  if (isBucketLocation(data)) {
    const { warnOfLaterGraphs } = yield* Effect.promise(() => import("./LaterGraphs.ts"))
    yield* warnOfLaterGraphs(data, manifest.createdAt)
  }
  return report
})

/** Refuses a bucket without a database: used as a path, the address of the bucket would become a folder. */
const databaseIn = Effect.fnUntraced(function* (database: string | undefined, data: string) {
  if (isBucketLocation(data)) {
    const { locate } = yield* Effect.promise(() => import("@detent/blobs/StorageLocation"))
    yield* Effect.fromResult(locate(data))
    if (database === undefined || database === "")
      return yield* new CopyRefused({ problem: `${data} is a bucket, which holds no database`, nextStep: "give --database postgres://…" })
  }
  return yield* Effect.fromResult(databaseOf(database, data))
})

/** Refuses a target that is not empty, and warns where the files of the backup are elsewhere. */
const refuseTarget = Effect.fnUntraced(function* (manifest: BackupManifest, target: Database, data: string) {
  if (isBucketLocation(data)) {
    if (manifest.bucket === undefined)
      return yield* new CopyRefused({
        problem: `the files are in the backup, and a restore writes no objects to ${data}`,
        nextStep: "restore into a new folder with --data",
      })
    if (dataOf(manifest.bucket) !== dataOf(data))
      yield* Effect.logWarning(
        `the objects of this backup are in ${manifest.bucket}, and a restore copies none: copy those of its time to ${data} before you ` +
          `work there, or work with --data ${manifest.bucket}`,
      )
  } else {
    const folder = resolve(data)
    if (existsSync(folder) && !statSync(folder).isDirectory())
      return yield* new CopyRefused({ problem: `${folder} is not a folder`, nextStep: "restore into a new folder with --data" })
    if (existsSync(folder) && readdirSync(folder).length > 0) yield* resumable(manifest, folder)
    if (manifest.bucket !== undefined)
      yield* Effect.logWarning(`the files of this backup are in ${manifest.bucket}: work with --data ${manifest.bucket}`)
  }
  if (target._tag === "Sqlite" && existsSync(target.file) && !isUnderRestore(data, target.file))
    return yield* new CopyRefused({ problem: `${target.file} exists`, nextStep: "name another database with --database, or remove it" })
})

/** Refuses a folder that is not empty, unless a killed restore of the same backup left its content. */
const resumable = Effect.fnUntraced(function* ({ createdAt, sha256 }: BackupManifest, folder: string) {
  const note = noteIn(folder)
  if (note === undefined)
    return yield* new CopyRefused({ problem: `${folder} is not empty`, nextStep: "restore into a new folder with --data" })
  if (yield* isHeld(folder, note))
    return yield* new CopyRefused({
      problem: `process ${note.pid} restores into ${folder}`,
      nextStep: "wait for it, or restore into a new folder with --data",
    })
  if (note.sha256 !== sha256 || note.createdAt !== createdAt)
    return yield* new CopyRefused({
      problem: `${folder} has a part of another backup, of ${note.createdAt}, whose restore was interrupted`,
      nextStep: `restore that one again with --from ${note.from}, or remove the folder`,
    })
  yield* Effect.logWarning(`an earlier restore of the backup of ${createdAt} into ${folder} was interrupted; resuming it`)
})

/**
 * Empties the data folder and removes the SQLite file: both were empty before. Rows in PostgreSQL stay: their copy is marked as
 * unfinished, and the same restore resumes it.
 */
const removeTarget = async (target: Database, data: string): Promise<void> => {
  const names = isBucketLocation(data) || !existsSync(data) ? [] : readdirSync(data)
  for (const name of names) await rm(join(data, name), { recursive: true, force: true })
  if (target._tag === "Sqlite") await removeDatabase(target.file)
}

const trying = <A>(part: string, run: () => Promise<A>): Effect.Effect<A, CopyFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => new CopyFailed({ part, cause }) })

/**
 * Copies all pages in one step, in a thread of Node's pool: a write between two steps would restart the backup. Writers do not
 * wait, since the database is in WAL mode.
 */
const onlineBackup = async (from: string, to: string): Promise<void> => {
  const source = new DatabaseSync(from, { readOnly: true, timeout: 60_000 })
  try {
    // SQLite would make a file that every user can read.
    await writeFile(to, "", { flag: "wx", mode: privateFile })
    await backupSqlite(source, to, { rate: 2 ** 31 - 1 })
  } finally {
    source.close()
  }
  const copy = new DatabaseSync(to)
  try {
    // Leaves WAL mode, so that the copy is one file without a log beside it.
    copy.exec("pragma journal_mode = delete")
    const [row] = copy.prepare("pragma quick_check").all()
    const verdict = row?.["quick_check"]
    if (verdict !== "ok") throw new Error(`SQLite finds the copy damaged: ${String(verdict)}`)
  } finally {
    copy.close()
  }
  await synced(to)
}

const snapshotOf = Effect.fnUntraced(function* (source: Database, folder: string, onProgress: BackupRequest["onProgress"]) {
  const target: Database = { _tag: "Sqlite", file: join(folder, "detent.db") }
  // The database is closed before its file is hashed.
  yield* Effect.scoped(
    Effect.gen(function* () {
      const both = yield* openBoth({ source, target, ...(yield* scratchFolders), uploads: undefined })
      yield* inSnapshot(both.source, both.copyRows({ name: nameOf(source), force: true, onProgress }))
    }),
  )
  yield* trying("the database", () => checkpointed(target.file))
})

/**
 * All reads of the effect see the database at one moment, and writers continue. Between two reads it may write for longer than a transaction
 * may otherwise be idle.
 */
const inSnapshot = <A, E>(sql: SqlClient, effect: Effect.Effect<A, E>) =>
  sql.withTransaction(
    Effect.andThen(
      Effect.forEach(
        ["set transaction isolation level repeatable read, read only", "set local idle_in_transaction_session_timeout = 0"],
        (statement) => sql.unsafe(statement),
        { discard: true },
      ),
      effect,
    ),
  )

const checkpointed = async (file: string): Promise<void> => {
  const database = new DatabaseSync(file)
  try {
    database.exec("pragma journal_mode = delete")
  } finally {
    database.close()
  }
  await synced(file)
}

/** Checks the target, and returns the effect that copies the rows. Reads a copy of the file, since opening a database writes to it. */
const rowsInto = Effect.fnUntraced(function* (
  file: string,
  folder: string,
  target: Database,
  uploads: ReadonlyArray<AnyUpload>,
  { createdAt }: BackupManifest,
  isResumed: boolean,
  onProgress: RestoreRequest["onProgress"],
) {
  const now = yield* Clock.currentTimeMillis
  yield* trying("the remains of a killed restore", () => removeLeftCopies(folder, now))
  const working = join(folder, `restoring-${restoringProcess()}.db`)
  yield* Effect.acquireRelease(
    trying("the database", () => copyFile(file, working)),
    () => releasing(working, () => removeDatabase(working)),
  )
  const source: Database = { _tag: "Sqlite", file: working }
  const both = yield* openBoth({ source, target, ...(yield* scratchFolders), uploads })
  const name = `the backup of ${createdAt}`
  const before = yield* storedCopy(both.target)
  // An earlier restore was killed after it had copied the last row.
  const isCopied = isResumed && before?.completedAt !== undefined && before.source === name
  if (!isCopied) yield* both.refuseFilled(name)
  const place = Effect.gen(function* () {
    if (!isCopied) yield* both.copyRows({ name, force: true, onProgress })
    const dialect = both.target.onDialectOrElse({ pg: () => "pg" as const, orElse: () => "sqlite" as const })
    for (const statement of endClaims(dialect)) yield* both.target.unsafe(statement)
  })
  return { place }
})

/** Removes working copies of restores whose process was killed. For a process on another host, the age of the copy decides. */
const removeLeftCopies = async (folder: string, now: number): Promise<void> => {
  for (const name of readdirSync(folder)) {
    const restoring = /^restoring-(.+)\.db$/.exec(name)?.[1]
    if (restoring === undefined) continue
    const file = join(folder, name)
    if (hasEnded(restoring) || (await stat(file)).mtimeMs < now - longestRestore) await removeDatabase(file)
  }
}

/** In milliseconds. An older working copy counts as left by a killed process. */
const longestRestore = 7 * 24 * 3_600_000

/** Temporary folders for the files that opening batches and uploads creates: a database that is only copied needs none of them. */
const scratchFolders = Effect.map(
  Effect.acquireRelease(
    trying("the temporary folder", () => mkdtemp(join(tmpdir(), "detent-copy-"))),
    (folder) => releasing(folder, () => rm(folder, { recursive: true, force: true })),
  ),
  (folder) => ({ sourceData: join(folder, "source"), targetData: join(folder, "target") }),
)

const removeDatabase = async (file: string): Promise<void> => {
  const files = ["", "-wal", "-shm", ".part"].map((end) => `${file}${end}`)
  await Promise.all(files.filter((one) => existsSync(one)).map((one) => rm(one, { force: true })))
}

const copiedFiles = (
  from: string,
  to: string,
  isLive: boolean,
  onProgress: BackupRequest["onProgress"],
  onDigest: (file: string, sha256: string) => Promise<void> = async () => {},
): Effect.Effect<FilesReport, CopyRefused | CopyFailed> =>
  copyFiles({
    from,
    to,
    isLive,
    onDigest,
    onFile: ({ file, files: rows, total }) => onProgress({ stage: "files", part: file, rows, total }),
  })

const listName = "files.sha256"

/** Copies the files, and writes the list of their hashes. */
const listedFiles = (data: string, folder: string, onProgress: BackupRequest["onProgress"]) =>
  Effect.gen(function* () {
    const path = join(folder, listName)
    const list = yield* Effect.acquireRelease(
      trying(listName, () => open(path, "w", privateFile)),
      (file) => Effect.promise(() => file.close()),
    )
    const add = async (file: string, sha256: string) => {
      await list.appendFile(`${sha256}  files/${file.split(sep).join("/")}\n`)
    }
    const { files, bytes } = yield* copiedFiles(data, join(folder, "files"), true, onProgress, add)
    return yield* trying(listName, async () => {
      await list.sync()
      return { files, bytes, sha256: await sha256Of(path) }
    })
  }).pipe(Effect.scoped)

/** Refuses a backup whose list or whose files are missing or damaged. Reads every file. */
const checkFiles = (folder: string, sha256: string): Effect.Effect<void, CopyRefused | CopyFailed> =>
  Effect.gen(function* () {
    const list = join(folder, listName)
    const damaged = yield* trying(listName, async () => {
      if (!existsSync(list)) return `${list} is missing`
      if ((await sha256Of(list)) !== sha256) return `${list} is damaged`
      for await (const line of createInterface({ input: createReadStream(list) })) {
        const file = join(folder, line.slice(66))
        if (!existsSync(file)) return `${file} is missing`
        if ((await sha256Of(file)) !== line.slice(0, 64)) return `${file} is damaged: its SHA-256 differs from the list`
      }
      return undefined
    })
    if (damaged !== undefined) return yield* new CopyRefused({ problem: damaged, nextStep: "restore another backup" })
  })

const readManifest = (folder: string): Effect.Effect<BackupManifest, CopyRefused> =>
  Effect.tryPromise(() => readFile(join(folder, "backup.json"), "utf8")).pipe(
    Effect.flatMap(Schema.decodeEffect(ManifestJson)),
    Effect.mapError(
      () =>
        new CopyRefused({
          problem: `${folder} is not a complete backup: its backup.json is missing or of another version`,
          nextStep: "name the folder that `detent data backup` made",
        }),
    ),
  )

const digestOf = async (file: string): Promise<{ readonly bytes: number; readonly sha256: string }> => ({
  bytes: (await stat(file)).size,
  sha256: await sha256Of(file),
})

/** Places the database atomically, without leases and claims of the processes that worked in the workspace. */
const placeDatabase = async (from: string, to: string): Promise<void> => {
  const partial = `${to}.part`
  await mkdir(dirname(to), { recursive: true, mode: privateFolder })
  await copyFile(from, partial)
  await chmod(partial, privateFile)
  const database = new DatabaseSync(partial)
  try {
    for (const statement of endClaims("sqlite")) database.exec(statement)
  } finally {
    database.close()
  }
  await synced(partial)
  await rename(partial, to)
}

const writeDurably = async (file: string, text: string): Promise<void> => {
  await writeFile(`${file}.part`, text, { mode: privateFile })
  await synced(`${file}.part`)
  await rename(`${file}.part`, file)
}

const synced = async (path: string): Promise<void> => {
  const file = await open(path, "r+")
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
