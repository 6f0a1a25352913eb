/**
 * Copies all stored data from one database to another, SQLite or PostgreSQL: instances with their numbers, events, snapshots,
 * timers, leases, commands, domain events, and every other table that both databases have.
 *
 *     const report = yield* copyDatabase({ source, target, name: "sqlite:orders.db" })
 *
 * A copy that was killed resumes where it was when it is started again. It ends with a check: rows and digests of every table, read
 * again from both databases. The source is only read.
 */

import { defectsAsFailures, type Row, textOf } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { MigrationError } from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { alignNames, type Catalog, readCatalog, type Table } from "./copy/Catalog.ts"
import { type CopyState, openCopyState, ownTables } from "./copy/CopyState.ts"
import { countRows, hasRows, type Page, pairOf, RowDigest, readPage, type TablePair, writePage } from "./copy/TablePair.ts"

export { type StoredCopy, storedCopy } from "./copy/CopyState.ts"

/** The copy was refused. Nothing was copied. */
export class CopyRefused extends Schema.TaggedError<CopyRefused>()("CopyRefused", { problem: Schema.String, nextStep: Schema.String }) {
  override get message() {
    return `${this.problem}; ${this.nextStep}`
  }
}

/** A page of a table could not be read or written. Rows that were copied before stay. */
export class CopyFailed extends Schema.TaggedError<CopyFailed>()("CopyFailed", { part: Schema.String, cause: Schema.Defect() }) {
  override get message() {
    return `${this.part} could not be copied: ${wordsOf(this.cause)}; correct the cause and start the same copy again: it resumes there`
  }
}

/** The databases differ after the copy. */
export class CopyDiffers extends Schema.TaggedError<CopyDiffers>()("CopyDiffers", { tables: Schema.Array(Schema.String) }) {
  override get message() {
    const tables = this.tables.join(", ")
    return `the databases differ in ${tables}: a process has changed one of them meanwhile; stop it, empty the target and copy again`
  }
}

export type CopyError = CopyRefused | CopyFailed | CopyDiffers | MigrationError | SqlError

export interface CopyProgress {
  readonly stage: "copy" | "index" | "check"
  /** The table or index that is worked on. */
  readonly part: string
  /** Rows that this stage has finished. */
  readonly rows: number
  readonly total: number
}

export interface CopiedTable {
  readonly table: string
  readonly rows: number
  readonly digest: string
}

export interface CopyReport {
  /** Whether it resumed a copy that was begun before. */
  readonly isResumed: boolean
  readonly tables: ReadonlyArray<CopiedTable>
  /** Tables of the source that are not the store's and that the target does not have. */
  readonly left: ReadonlyArray<string>
}

/** An index that is filled from rows of a table, in steps. Each step returns where the next one begins. */
export interface IndexBuild {
  readonly name: string
  readonly step: (after: number | undefined) => Effect.Effect<number | undefined, unknown>
}

export interface CopyOptions {
  readonly source: SqlClient
  /** It must have all tables already. */
  readonly target: SqlClient
  /** The name of the source, the same each time the copy is started. It is stored in the target. */
  readonly name: string
  /** Copies although a process works in the source. */
  readonly force?: boolean
  readonly indexes?: ReadonlyArray<IndexBuild>
  readonly onProgress?: (progress: CopyProgress) => Effect.Effect<void>
}

/** The names of a database's tables, as in a report. */
export const tableNames = (client: SqlClient): Effect.Effect<ReadonlySet<string>, SqlError> =>
  Effect.map(readCatalog(client), ({ tables }) => new Set(tables.keys()))

/**
 * Statements that end all leases and claims. No process holds those of a restored database: its work would wait until they end by
 * themselves.
 */
export const endClaims = (dialect: "pg" | "sqlite"): ReadonlyArray<string> => {
  const place = (name: string) => (dialect === "pg" ? `detent.${name}` : `detent_${name}`)
  return [
    `update ${place("leases")} set expires_at = 0 where expires_at > 0`,
    `update ${place("timers")} set claimed_until = 0 where claimed_until > 0`,
    `update ${place("commands")} set claimed_until = 0 where claimed_until > 0`,
  ]
}

/** Refuses a target that has rows of its own, or a copy of another source. Its tables need not exist yet. */
export const refuseFilled = (options: Pick<CopyOptions, "source" | "target" | "name">): Effect.Effect<void, CopyError> =>
  Effect.gen(function* () {
    if (yield* resumes(options, yield* openCopyState(options.target))) return
    const [source, target] = alignNames(yield* readCatalog(options.source), yield* readCatalog(options.target))
    const names = [...source.tables.keys()].filter((name) => isCopied(name) && !openedTables.includes(name)).toSorted()
    const places = names.flatMap((name) => {
      const table = target.tables.get(name)
      return table === undefined ? [] : [{ name, sql: target.sql, dialect: target.dialect, table }]
    })
    yield* refuseRows(yield* Effect.filter(places, hasRows))
  })

const refuseRows = (filled: ReadonlyArray<{ readonly name: string }>): Effect.Effect<void, CopyRefused> =>
  filled.length === 0
    ? Effect.void
    : Effect.fail(
        new CopyRefused({
          problem: `the target is not empty: there are rows in ${filled.map(({ name }) => name).join(", ")}`,
          nextStep: "choose an empty database",
        }),
      )

export const copyDatabase = (options: CopyOptions): Effect.Effect<CopyReport, CopyError> =>
  Effect.gen(function* () {
    const state = yield* openCopyState(options.target)
    const [source, target] = alignNames(yield* readCatalog(options.source), yield* readCatalog(options.target))
    const { pairs, left } = yield* pairsOf(source, target)
    const isResumed = yield* resumes(options, state)
    if (options.force !== true) yield* refuseLive(source)
    if (!isResumed) yield* begin(options, state, target, pairs)
    yield* copyTables(options, state, pairs)
    yield* buildIndexes(options, state, target)
    const tables = yield* check(options, pairs)
    yield* state.complete
    return { isResumed, tables, left }
  })

/** Whether a table is copied. Tables that are rebuilt from others, or list the migrations that have run, are not. */
const isCopied = (name: string): boolean => !/(^|[._])migrations$/.test(name) && !derivedTables.includes(name) && !ownTables.includes(name)

/** Triggers maintain `blocks`; the nodes of a cluster register themselves. */
const derivedTables = [
  ...["detent.moves", "detent.listing", "detent.fields", "detent.counts", "detent.finished", "detent.blocks"],
  ...["detent.cluster_nodes", "detent.cluster_shards"],
]

/** Tables that get rows when a database is opened. */
const openedTables = ["detent.database", "detent.domain_journals", "detent.domain_projections"]

const pairsOf = (source: Catalog, target: Catalog) =>
  Effect.gen(function* () {
    const names = [...source.tables.keys()].filter(isCopied).toSorted()
    const left = names.filter((name) => !name.startsWith("detent.") && !target.tables.has(name))
    const pairs: Array<TablePair> = []
    for (const name of names.filter((one) => !left.includes(one))) {
      const pair = pairOf(source, target, name)
      if (typeof pair === "string")
        return yield* new CopyRefused({ problem: pair, nextStep: "open both databases with the same version, then copy again" })
      pairs.push(pair)
    }
    return { pairs, left }
  })

const resumes = ({ name }: Pick<CopyOptions, "name">, state: CopyState) =>
  Effect.gen(function* () {
    const begun = yield* state.copy
    if (begun === undefined) return false
    if (begun.completedAt !== undefined)
      return yield* new CopyRefused({
        problem: `the target is a complete copy of ${begun.source} since ${DateTime.formatIso(DateTime.makeUnsafe(begun.completedAt))}`,
        nextStep: "use it, or copy into an empty database",
      })
    if (begun.source !== name)
      return yield* new CopyRefused({
        problem: `the target has a copy of ${begun.source} that has not ended`,
        nextStep: "copy from there to resume it, or choose an empty database",
      })
    return true
  })

/** Refuses a source with a lease that has not ended: a working process extends its lease every few seconds. */
const refuseLive = ({ sql, dialect, tables }: Catalog) =>
  Effect.gen(function* () {
    const leases = tables.get("detent.leases")
    if (leases === undefined) return
    const now = dialect === "pg" ? "(extract(epoch from clock_timestamp()) * 1000)::bigint" : String(yield* Clock.currentTimeMillis)
    const [live] = yield* sql.unsafe<Row>(`select name from ${leases.place} where expires_at > ${now} order by name limit 1`)
    if (live !== undefined)
      return yield* new CopyRefused({
        problem: `a process works in the source: it holds the lease ${textOf(live, "name")}`,
        nextStep:
          "stop it, wait some seconds and copy again; --force copies now, and the check at the end finds rows that change meanwhile",
      })
  })

const begin = (options: CopyOptions, state: CopyState, target: Catalog, pairs: ReadonlyArray<TablePair>) =>
  Effect.gen(function* () {
    const kept = pairs.filter(({ name }) => !openedTables.includes(name))
    yield* refuseRows(yield* Effect.filter(kept, (pair) => hasRows(pair.target)))
    const opened = pairs.filter(({ name }) => openedTables.includes(name))
    yield* transacting(
      target.sql,
      Effect.gen(function* () {
        yield* state.begin(options.name)
        for (const { target: side } of opened) yield* side.sql.unsafe(`delete from ${side.table.place}`)
      }),
    )
  })

/** The approximate size of a page, so that rows of megabytes are not read by the thousand. */
const pageBytes = 2_000_000

const rowLimits = { first: 200, least: 1, most: 5_000 }

const nextLimit = (limit: number, bytes: number): number => {
  if (bytes > 2 * pageBytes) return Math.max(rowLimits.least, Math.floor(limit / 2))
  return bytes < pageBytes / 2 ? Math.min(rowLimits.most, limit * 2) : limit
}

const sizeOf = ({ rows }: Page): number => rows.reduce((sum, row) => sum + row.reduce<number>((all, value) => all + lengthOf(value), 0), 0)

const lengthOf = (value: string | number | null): number => (typeof value === "string" ? value.length : 8)

const copyTables = (options: CopyOptions, state: CopyState, pairs: ReadonlyArray<TablePair>) =>
  Effect.gen(function* () {
    const parts = yield* state.parts
    const counts = yield* Effect.forEach(pairs, (pair) => countRows(pair.source))
    const total = counts.reduce((sum, count) => sum + count, 0)
    let rows = 0
    for (const pair of pairs) {
      const before = parts.get(pair.name)
      rows += before?.copied ?? 0
      if (before?.isDone === true) continue
      let after = before?.position
      let copied = before?.copied ?? 0
      for (let limit = rowLimits.first, isDone = false; !isDone; ) {
        const page = yield* failing(pair.name, readPage(pair.source, pair.columns, after, limit))
        isDone = page.rows.length < limit
        after = page.last ?? after
        copied += page.rows.length
        rows += page.rows.length
        const write = page.rows.length === 0 ? Effect.void : writePage(pair, page.rows)
        const advance = state.advance(pair.name, { position: after, copied, isDone })
        yield* failing(pair.name, transacting(pair.target.sql, Effect.andThen(write, advance)))
        limit = nextLimit(limit, sizeOf(page))
        yield* reportProgress(options, { stage: "copy", part: pair.name, rows, total })
      }
    }
  })

const buildIndexes = (options: CopyOptions, state: CopyState, target: Catalog) =>
  Effect.gen(function* () {
    const parts = yield* state.parts
    const builds = [listingBuild(target), ...(options.indexes ?? [])]
    for (const [index, build] of builds.entries()) {
      const part = `index ${build.name}`
      const before = parts.get(part)
      if (before?.isDone === true) continue
      let after = before?.position?.[0] === undefined ? undefined : Number(before.position[0])
      do {
        yield* reportProgress(options, { stage: "index", part: build.name, rows: index, total: builds.length })
        after = yield* failing(part, build.step(after))
        yield* state.advance(part, { position: after === undefined ? undefined : [after], copied: 0, isDone: after === undefined })
      } while (after !== undefined)
    }
  })

/** Rebuilds the listing and the counts of instances and commands; on PostgreSQL also identity sequences and planner statistics. */
const listingBuild = ({ sql, dialect, tables }: Catalog): IndexBuild => {
  const place = (name: string) => (dialect === "pg" ? `detent.${name}` : `detent_${name}`)
  const [shard, zero] = dialect === "pg" ? [", shard", ", 0"] : ["", ""]
  const statements = [
    ...["moves", "listing", "fields", "counts", "finished"].map((name) => `delete from ${place(name)}`),
    `insert into ${place("listing")} (instance, machine, id, tag, status, updated_at)
      select instance, machine, id, tag, status, updated_at from ${place("instances")}`,
    // The next read brings the values of indexed fields and labels up to date, for these instances.
    `insert into ${place("moves")} (instances) select ${dialect === "pg" ? "array_agg(instance)" : "json_group_array(instance)"}
      from ${place("instances")} where fields is not null or labels is not null group by instance / 1000`,
    `insert into ${place("counts")} (machine, tag, instances) select machine, tag, count(*) from ${place("instances")} group by machine, tag`,
    `insert into ${place("finished")} (queue, status${shard}, commands) select queue, status${zero}, count(*) from ${place("commands")}
      where status in ('completed', 'skipped', 'handled') group by queue, status`,
    ...(dialect === "pg" ? [...tables.values()].flatMap(numberingOf) : []),
  ]
  const written = transacting(
    sql,
    Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }),
  )
  const measured = dialect === "pg" ? Effect.asVoid(sql.unsafe("analyze")) : Effect.void
  return { name: "listing", step: () => Effect.as(Effect.andThen(written, measured), undefined) }
}

/** Sets the identity sequences of PostgreSQL to continue after the numbers that were copied. */
const numberingOf = ({ place, columns }: Table): ReadonlyArray<string> =>
  columns.flatMap(({ name, isIdentity }) =>
    isIdentity
      ? [
          `select setval(pg_get_serial_sequence('${place}', '${name}'), max("${name}"))::text from ${place} having max("${name}") is not null`,
        ]
      : [],
  )

/** Reads every row of both databases again. */
const check = (options: CopyOptions, pairs: ReadonlyArray<TablePair>) =>
  Effect.gen(function* () {
    const counts = yield* Effect.forEach(pairs, (pair) => countRows(pair.source))
    const total = counts.reduce((sum, count) => sum + count, 0)
    let rows = 0
    const checked = yield* Effect.forEach(pairs, (pair) =>
      Effect.gen(function* () {
        const counted = (more: number) => {
          rows += more
          return reportProgress(options, { stage: "check", part: pair.name, rows, total })
        }
        const [source, target] = yield* Effect.all([digestOf(pair.source, pair, counted), digestOf(pair.target, pair, () => Effect.void)], {
          concurrency: 2,
        })
        return {
          table: pair.name,
          rows: target.rows,
          digest: target.text,
          isSame: (source.text === target.text && source.rows === target.rows) || mayDiffer(options, pair),
        }
      }),
    )
    const different = checked.filter(({ isSame }) => !isSame).map(({ table }) => table)
    if (different.length > 0) return yield* new CopyDiffers({ tables: different })
    return checked.map(({ table, rows: copied, digest }) => ({ table, rows: copied, digest }))
  })

/** With `force`, a process may work in the source: it extends its lease all the time, which changes nothing else. */
const mayDiffer = ({ force }: CopyOptions, { name }: TablePair): boolean => force === true && name === "detent.leases"

const digestOf = (side: TablePair["source"], pair: TablePair, counted: (rows: number) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    const digest = new RowDigest()
    let after: Page["last"]
    for (let limit = rowLimits.first; ; ) {
      const page = yield* failing(pair.name, readPage(side, pair.columns, after, limit))
      for (const row of page.rows) digest.add(row)
      yield* counted(page.rows.length)
      if (page.rows.length < limit) return digest
      after = page.last
      limit = nextLimit(limit, sizeOf(page))
    }
  })

const reportProgress = ({ onProgress }: CopyOptions, progress: CopyProgress): Effect.Effect<void> => onProgress?.(progress) ?? Effect.void

const failing = <A, R>(part: string, effect: Effect.Effect<A, unknown, R>): Effect.Effect<A, CopyFailed, R> =>
  Effect.mapError(effect, (cause) => new CopyFailed({ part, cause }))

const transacting = <A>(sql: SqlClient, effect: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  defectsAsFailures(isSqlError)(sql.withTransaction(effect))

/** The message of the database. */
const wordsOf = (cause: unknown): string => {
  const inner = isSqlError(cause) ? cause.reason.cause : cause
  return inner instanceof Error ? inner.message : String(inner)
}
