/** A client for a SQLite file on node:sqlite. It has one connection: lent for one statement, or taken for a transaction. */

import { backup as backupDatabase, DatabaseSync, type SQLInputValue, type StatementResultingChanges, type StatementSync } from "node:sqlite"
import { releasing } from "@detent/machine/internal"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as Client from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
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

interface Mode {
  /** Rows as arrays of their values. */
  readonly arrays?: boolean
  /** The statement is not kept. */
  readonly once?: boolean
}

interface Executed {
  readonly rows: ReadonlyArray<Record<string, unknown>>
  /** Undefined for a statement that returns rows. */
  readonly changed: StatementResultingChanges | undefined
}

/** Opens the file; closed with the scope. */
export const open = (config: SqliteClientConfig): Effect.Effect<SqliteConnection, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const opening = attempt("open", () => new DatabaseSync(config.filename, { readOnly: config.readonly ?? false }))
    const db = yield* Effect.acquireRelease(opening, (db) => releasing(config.filename, () => db.close()))
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
    /** Reads the result inside the statement's own effect. */
    const executed = <A>(
      sql: string,
      params: ReadonlyArray<unknown>,
      mode: Mode,
      read: (result: Executed) => A,
    ): Effect.Effect<A, SqlError> =>
      Effect.withFiber((fiber) =>
        attempt("execute", () => {
          const statement = mode.once === true ? db.prepare(sql) : prepare(sql)
          statement.setReadBigInts(Context.get(fiber.context, Client.SafeIntegers))
          statement.setReturnArrays(mode.arrays === true)
          const values = params as ReadonlyArray<SQLInputValue>
          return read(
            statement.columns().length > 0
              ? { rows: statement.all(...values), changed: undefined }
              : { rows: [], changed: statement.run(...values) },
          )
        }),
      )
    const rowsOf = (sql: string, params: ReadonlyArray<unknown>, transform: Transform, mode: Mode = {}) =>
      executed(sql, params, mode, ({ rows }) => (transform === undefined ? rows : transform(rows)))
    const valuesOf = (sql: string, params: ReadonlyArray<unknown>, mode?: Mode) =>
      executed(sql, params, { ...mode, arrays: true }, ({ rows }) => rows as unknown as ReadonlyArray<ReadonlyArray<unknown>>)
    return {
      get isTransaction() {
        return db.isTransaction
      },
      execute: (sql, params, transform) => rowsOf(sql, params, transform),
      executeRaw: (sql, params) => executed(sql, params, {}, ({ rows, changed }) => changed ?? rows),
      executeValues: (sql, params) => valuesOf(sql, params),
      executeUnprepared: (sql, params, transform) => rowsOf(sql, params, transform, { once: true }),
      executeValuesUnprepared: (sql, params) => valuesOf(sql, params, { once: true }),
      executeStream: (sql, params, transform) => Stream.fromIterableEffect(rowsOf(sql, params, transform)),
      backup: (destination) =>
        Effect.asVoid(Effect.tryPromise({ try: () => backupDatabase(db, destination), catch: (cause) => failure("backup", cause) })),
    }
  })

interface Overlay {
  /** The statement that begins a transaction, unless `BeginTransaction` names one. */
  readonly begin: string
  /** Tries again while another process has the file locked. */
  readonly waiting: <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>) => Effect.Effect<A, E | SqlError, R>
}

const withoutWaiting: Overlay = { begin: "BEGIN", waiting: (effect) => effect }

/**
 * A client on a connection, which may be wrapped. Whatever waits for another process waits without the connection: meanwhile another fiber may
 * read, or begin a transaction, and a statement that held the connection would become a part of that.
 */
export const over = (
  connection: Connection,
  inner: SqliteConnection,
  config: SqliteClientConfig,
  { begin, waiting }: Overlay = withoutWaiting,
): Effect.Effect<SqliteClient, never, Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const semaphore = yield* Semaphore.make(1)
    const isTransaction = () => inner.isTransaction
    const acquirers = Client.makeSqliteAcquirers({ connection: Effect.succeed(connection), semaphore, isTransaction })
    const spanAttributes = [["db.system.name", "sqlite"]] as const
    const client = yield* Client.make({
      ...acquirers,
      borrower: (f) => waiting(acquirers.borrower(f)),
      driver: "sqlite-node",
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes,
    })
    const execute = (sql: string) => Effect.asVoid(connection.execute(sql, [], undefined))
    const undo = (sql: string) => Effect.suspend(() => (inner.isTransaction ? execute(sql) : Effect.void))
    /** Takes the connection and begins. What its user leaves open ends with the scope. */
    const begun = Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const lease = yield* Scope.fork(yield* Effect.scope)
        const statement = (yield* Client.BeginTransaction) ?? begin
        const taken = Effect.andThen(restore(Scope.provide(acquirers.transactionAcquirer, lease)), execute(statement))
        yield* Effect.onError(taken, (cause) => Scope.close(lease, Exit.failCause(cause)))
        yield* Scope.addFinalizer(lease, Effect.ignore(undo("ROLLBACK")))
        return connection
      }),
    )
    const withTransaction = Client.makeWithTransaction({
      transactionService: client.transactionService,
      spanAttributes,
      acquireConnection: (restore) => restore(waiting(begun)),
      begin: () => Effect.void,
      commit: () => execute("COMMIT"),
      onCommitFailure: acquirers.onCommitFailure,
      rollback: () => undo("ROLLBACK"),
      savepoint: (_, id) => execute(`SAVEPOINT detent_${id}`),
      releaseSavepoint: (_, id) => undo(`RELEASE detent_${id}`),
      rollbackSavepoint: (_, id) => undo(`ROLLBACK TO detent_${id}`),
    })
    return Object.assign(client, { withTransaction, config, backup: inner.backup })
  })

export const make = (config: SqliteClientConfig): Effect.Effect<SqliteClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.flatMap(open(config), (connection) => over(connection, connection, config))

export const layer = (config: SqliteClientConfig): Layer.Layer<SqliteClient | Client.SqlClient, SqlError> =>
  Layer.effectContext(
    Effect.map(make(config), (client) => Context.make(SqliteClient, client).pipe(Context.add(Client.SqlClient, client))),
  ).pipe(Layer.provide(Reactivity.layer))
