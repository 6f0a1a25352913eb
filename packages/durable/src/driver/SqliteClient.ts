/** A client for a SQLite file on node:sqlite. It has one connection: lent for one statement, or taken for a transaction. */
import { backup as backupDatabase, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as Client from "effect/sql/SqlClient"
import type { Borrower, Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"

export interface SqliteClientConfig {
  readonly filename: string
  readonly readonly?: boolean | undefined
  readonly disableWAL?: boolean | undefined
  /** How many statements stay prepared. Default: 200. */
  readonly preparedStatements?: number | undefined
}

export interface SqliteClient extends Client.SqlClient {
  readonly config: SqliteClientConfig
  readonly backup: (destination: string) => Effect.Effect<void, SqlError>
}

export const SqliteClient = Context.Service<SqliteClient>("@detent/durable/SqliteClient")

export interface SqliteConnection extends Connection {
  readonly isTransaction: boolean
  readonly backup: (destination: string) => Effect.Effect<void, SqlError>
}

const attempt = <A>(operation: string, run: () => A): Effect.Effect<A, SqlError> =>
  Effect.try({ try: run, catch: (cause) => failure(operation, cause) })

const failure = (operation: string, cause: unknown): SqlError =>
  new SqlError({ reason: classifySqliteError(withErrno(cause), { message: `Failed to ${operation}`, operation }) })

/** node:sqlite calls errcode what the classifier calls errno. */
const withErrno = (cause: unknown): unknown =>
  cause instanceof Error && "errcode" in cause && !("errno" in cause) ? Object.assign(cause, { errno: cause.errcode }) : cause

type Transform = Parameters<Connection["execute"]>[2]

/** Opens the file; closed with the scope. */
export const open = (config: SqliteClientConfig): Effect.Effect<SqliteConnection, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const opening = attempt("open", () => new DatabaseSync(config.filename, { readOnly: config.readonly ?? false }))
    const db = yield* Effect.acquireRelease(opening, (db) => Effect.sync(() => db.close()))
    if (config.disableWAL !== true) yield* attempt("open", () => db.exec("pragma journal_mode = wal"))
    /** Last used last. */
    const prepared = new Map<string, StatementSync>()
    const limit = config.preparedStatements ?? 200
    const prepare = (sql: string): StatementSync => {
      const known = prepared.get(sql)
      if (known !== undefined) {
        prepared.delete(sql)
        prepared.set(sql, known)
        return known
      }
      const made = db.prepare(sql)
      prepared.set(sql, made)
      if (prepared.size > limit) prepared.delete(prepared.keys().next().value as string)
      return made
    }
    const run = (sql: string, params: ReadonlyArray<unknown>, mode: { raw?: boolean; arrays?: boolean; once?: boolean }) =>
      Effect.withFiber<any, SqlError>((fiber) =>
        attempt("execute", () => {
          const statement = mode.once === true ? db.prepare(sql) : prepare(sql)
          statement.setReadBigInts(Context.get(fiber.context, Client.SafeIntegers))
          statement.setReturnArrays(mode.arrays === true)
          if (statement.columns().length > 0) return statement.all(...(params as ReadonlyArray<SQLInputValue>))
          const { changes, lastInsertRowid } = statement.run(...(params as ReadonlyArray<SQLInputValue>))
          return mode.raw === true ? { changes, lastInsertRowid } : []
        }),
      )
    const rows = (effect: Effect.Effect<any, SqlError>, transform: Transform) =>
      transform === undefined ? effect : Effect.map(effect, transform)
    return {
      get isTransaction() {
        return db.isTransaction
      },
      execute: (sql, params, transform) => rows(run(sql, params, {}), transform),
      executeRaw: (sql, params) => run(sql, params, { raw: true }),
      executeValues: (sql, params) => run(sql, params, { arrays: true }),
      executeUnprepared: (sql, params, transform) => rows(run(sql, params, { once: true }), transform),
      executeValuesUnprepared: (sql, params) => run(sql, params, { arrays: true, once: true }),
      executeStream: (sql, params, transform) => Stream.fromIterableEffect(rows(run(sql, params, {}), transform)),
      backup: (destination) =>
        Effect.asVoid(Effect.tryPromise({ try: () => backupDatabase(db, destination), catch: (cause) => failure("backup", cause) })),
    }
  })

/**
 * A client on a connection, which may be wrapped. `lending` may wrap how a connection is lent for one statement, such as to try again: it
 * must ask for the connection anew each time, because meanwhile another fiber may have begun a transaction on it.
 */
export const over = (
  connection: Connection,
  inner: SqliteConnection,
  config: SqliteClientConfig,
  lending: (lend: Borrower) => Borrower = (lend) => lend,
): Effect.Effect<SqliteClient, never, Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const semaphore = yield* Semaphore.make(1)
    const isTransaction = () => inner.isTransaction
    const acquirers = Client.makeSqliteAcquirers({ connection: Effect.succeed(connection), semaphore, isTransaction })
    const client = yield* Client.make({
      ...acquirers,
      borrower: lending(acquirers.borrower),
      driver: "sqlite-node",
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]],
    })
    return Object.assign(client, { config, backup: inner.backup })
  })

export const make = (config: SqliteClientConfig): Effect.Effect<SqliteClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.flatMap(open(config), (connection) => over(connection, connection, config))

export const layer = (config: SqliteClientConfig): Layer.Layer<SqliteClient | Client.SqlClient, SqlError> =>
  Layer.effectContext(
    Effect.map(make(config), (client) => Context.make(SqliteClient, client).pipe(Context.add(Client.SqlClient, client))),
  ).pipe(Layer.provide(Reactivity.layer))
