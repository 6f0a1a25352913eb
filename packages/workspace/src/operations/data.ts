/** Operations on all data of a workspace: copy it to another database, and its files to another folder. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import {
  CopyFailed,
  type CopyOptions,
  type CopyProgress,
  CopyRefused,
  copyDatabase,
  type IndexBuild,
  refuseFilled,
  storedCopy,
  tableNames,
} from "@detent/durable/DatabaseCopy"
import * as SqlEventJournal from "@detent/eventlog/SqlEventJournal"
import type { AnyUpload } from "@detent/uploads"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { AccessTokens } from "../AccessTokens.ts"
import { AuditLog } from "../AuditLog.ts"
import { type Database, databaseOf, type Stores, storesIn } from "../Database.ts"
import { belowData } from "../DataLocation.ts"
import { RequestKeys } from "../RequestKeys.ts"
import { copyFiles } from "./DataFiles.ts"

export { presentAddress } from "./DataFiles.ts"

export interface CopyRequest {
  /** `sqlite:PATH` or `postgres://…`. */
  readonly from: string
  readonly to: string
  readonly data: string
  /** Also copies the files of the data folder to this folder. Default: the new database uses the files where they are. */
  readonly toData?: string | undefined
  /** Copies although a process works in the source. */
  readonly force: boolean
  /** The kinds of uploads of the workspace: they define which words and fields of their items are searched. */
  readonly uploads?: ReadonlyArray<AnyUpload> | undefined
  readonly onProgress: (progress: DataProgress) => Effect.Effect<void>
}

/** In the stage `files`, `part` is the path of a file, and `rows` counts files. */
export type DataProgress = CopyProgress | (Omit<CopyProgress, "stage"> & { readonly stage: "files" })

/**
 * Copies every table of the workspace into an empty database and checks the copy. A copy that was killed resumes when started again.
 */
export const copy = ({ from, to, data, toData, force, uploads = [], onProgress }: CopyRequest) =>
  Effect.scoped(
    Effect.gen(function* () {
      const source = yield* Effect.fromResult(databaseOf(from, data))
      const target = yield* Effect.fromResult(databaseOf(to, data))
      if (nameOf(source) === nameOf(target))
        return yield* new CopyRefused({ problem: "source and target are one database", nextStep: "name two" })
      if (source._tag === "Sqlite" && !existsSync(source.file))
        return yield* new CopyRefused({ problem: `there is no SQLite database ${source.file}`, nextStep: "correct --from" })
      const between = yield* openBoth({ source, target, sourceData: data, targetData: toData ?? data, uploads })
      // Files come before rows: once the database copy is complete, the command would refuse to run again for missing files.
      const files =
        toData === undefined
          ? undefined
          : yield* copyFiles({
              from: data,
              to: toData,
              onFile: ({ file, files: rows, total }) => onProgress({ stage: "files", part: file, rows, total }),
            })
      return { ...(yield* between.copyRows({ name: nameOf(source), force, onProgress })), files }
    }),
  )

export interface BothDatabases {
  readonly source: Database
  readonly target: Database
  readonly sourceData: string
  readonly targetData: string
  /** Undefined: the target gets no search index. */
  readonly uploads: ReadonlyArray<AnyUpload> | undefined
}

/** Opens the source database, whose tables it upgrades to this version, and the target database. */
export const openBoth = Effect.fn("data.openBoth")(function* ({ source, target, sourceData, targetData, uploads }: BothDatabases) {
  const stores = { source: yield* storesOf(source), target: yield* storesOf(target) }
  const clients = { source: Context.get(stores.source, SqlClient), target: Context.get(stores.target, SqlClient) }
  const tables = yield* tableNames(clients.source)
  yield* prepare(stores.source, tables, sourceData)
  if (uploads !== undefined && isUsed(tables).uploads) yield* refuseUnknownKinds(clients.source, uploads)
  const copyRows = (options: Pick<CopyOptions, "name" | "force" | "onProgress">) =>
    Effect.gen(function* () {
      // The tables of an unfinished copy stay as they are.
      const begun = yield* storedCopy(clients.target)
      if (begun === undefined || begun.completedAt !== undefined) yield* prepare(stores.target, tables, targetData)
      const indexes = uploads === undefined ? [] : yield* indexesOf(clients.target, tables, uploads)
      return yield* copyDatabase({ ...clients, ...options, indexes })
    })
  return { ...clients, copyRows, refuseFilled: (name: string) => refuseFilled({ ...clients, name }) }
})

/** The address of a database without its credentials. */
export const nameOf = (database: Database): string => {
  if (database._tag === "Sqlite") return `sqlite:${resolve(database.file)}`
  const { hostname, port, pathname } = new URL(Redacted.value(database.url))
  return `postgres://${hostname}${port === "" ? "" : `:${port}`}${pathname}`
}

/** A memo map shares layers by identity, so source and target each need their own map. */
const storesOf = (database: Database) =>
  Effect.flatMap(Effect.scope, (scope) => Layer.buildWithMemoMap(storesIn(database), Layer.makeMemoMapUnsafe(), scope))

const isUsed = (tables: ReadonlySet<string>) => ({
  requests: tables.has("detent.request_keys"),
  audit: tables.has("detent.audit"),
  tokens: tables.has("detent.tokens"),
  events: tables.has("detent.domain_events"),
  // `extraction_runs` has no schema on SQLite.
  systems: tables.has("detent.extraction_runs") || tables.has("extraction_runs") || tables.has("detent.upload_batches"),
  uploads: tables.has("detent.upload_batches"),
})

/** Creates or upgrades the tables of all parts that the source has, by opening and closing those parts. */
const prepare = Effect.fnUntraced(function* (stores: Context.Context<Stores>, tables: ReadonlySet<string>, data: string) {
  const used = isUsed(tables)
  if (used.requests) yield* opened(stores, RequestKeys.layer)
  if (used.audit) yield* opened(stores, AuditLog.layer)
  if (used.tokens) yield* opened(stores, AccessTokens.layer)
  if (used.events) yield* opened(stores, SqlEventJournal.layer({ journal: "batches" }))
  if (used.systems) yield* opened(stores, yield* systemsIn(data))
})

const opened = (stores: Context.Context<Stores>, part: Layer.Layer<never, unknown, Stores> | Layer.Layer<unknown, unknown, Stores>) =>
  Effect.scoped(
    Effect.flatMap(Effect.scope, (scope) =>
      Layer.buildWithMemoMap(Layer.provide(part, Layer.succeedContext(stores)), Layer.makeMemoMapUnsafe(), scope),
    ),
  ).pipe(Effect.mapError((cause) => new CopyFailed({ part: "the definition of the tables", cause })))

/** Opens batches and uploads as an observer, so that nothing resumes. */
const systemsIn = (data: string) =>
  Effect.promise(async () => {
    const [{ Knowledge }, { Uploads }] = await Promise.all([import("@detent/knowledge"), import("@detent/uploads")])
    return Uploads.layer({ folder: belowData(data, "uploads") }).pipe(Layer.provideMerge(Knowledge.layerObserving({ folder: data })))
  })

const refuseUnknownKinds = Effect.fnUntraced(function* (source: SqlClient, uploads: ReadonlyArray<AnyUpload>) {
  const { Items, storedKinds } = yield* Effect.promise(() => import("@detent/uploads"))
  const kinds = yield* Effect.provideService(storedKinds, SqlClient, source)
  const unknown = kinds.find((kind) => ![Items, ...uploads].some(({ name }) => name === kind))
  if (unknown !== undefined)
    return yield* new CopyRefused({
      problem: `items of ${unknown} are stored, but their searched fields are unknown here`,
      nextStep: `add its definition to uploads in detent.config.ts`,
    })
})

const indexesOf = (
  target: SqlClient,
  tables: ReadonlySet<string>,
  uploads: ReadonlyArray<AnyUpload>,
): Effect.Effect<ReadonlyArray<IndexBuild>> =>
  Effect.promise(async () => {
    if (!isUsed(tables).uploads) return []
    const { Items, rebuildSearch } = await import("@detent/uploads")
    const kinds = [...new Map([Items, ...uploads].map((one) => [one.name, one])).values()]
    return [{ name: "words of uploaded items", step: (after) => Effect.provideService(rebuildSearch(kinds, after), SqlClient, target) }]
  })
