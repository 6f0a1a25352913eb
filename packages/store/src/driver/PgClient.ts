/** A client for PostgreSQL: a pool of connections of node-postgres. Borrowed for one statement, reserved for a transaction. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Pool from "effect/Pool"
import type * as Queue from "effect/Queue"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Client from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import { resolve } from "./PgAddress.ts"
import * as PgConnection from "./PgConnection.ts"
import { failure, isUnreadable } from "./PgFailure.ts"
import { jsonb } from "./PgParameters.ts"
import type { PostgresDriver } from "./PostgresDriver.ts"

export interface PgClientConfig extends PgConnection.Config {
  /** Default: 0. */
  readonly minConnections?: number | undefined
  /** Default: 10. */
  readonly maxConnections?: number | undefined
  /** After how long an unused connection is closed. Default: 10 seconds. */
  readonly idleTimeout?: Duration.Input | undefined
  /** After how long a connection is replaced, when its statement or transaction has ended. Default: never. */
  readonly connectionTTL?: Duration.Input | undefined
  /** How long a statement or a transaction waits for a connection. Default: without a limit. */
  readonly acquireTimeout?: Duration.Input | undefined
}

export interface PgClient extends Client.SqlClient, Required<PostgresDriver> {
  readonly config: PgClientConfig
  readonly json: (value: unknown) => Statement.Fragment
  /** The queue fails when the connection is lost. It holds a connection of the pool until the scope closes. */
  readonly listen: (channel: string) => Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError>, SqlError, Scope.Scope>
  readonly notify: (channel: string, payload: string) => Effect.Effect<void, SqlError>
}

export const PgClient = Context.Service<PgClient>("@detent/durable/PgClient")

export const make = (config: PgClientConfig): Effect.Effect<PgClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const pool = yield* makePool(config)
    const { host, port, database, user } = yield* Effect.try({ try: () => resolve(config), catch: (cause) => failure(cause, "connect") })
    const spanAttributes = [
      ["db.system.name", "postgresql"],
      ["db.namespace", database ?? user],
      ["server.address", host ?? "localhost"],
      ["server.port", port ?? 5432],
    ] as const
    const client = yield* Client.make({
      driver: "pg",
      compiler: makeCompiler(),
      acquirer: pool.get,
      borrower: pool.use,
      transactionAcquirer: pool.reserve,
      spanAttributes,
    })
    const { transactionService } = client
    const acquireConnection = (restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => restore(pool.reserve)
    return Object.assign(client, {
      withTransaction: Client.makeWithTransaction({ ...transactionControl, transactionService, spanAttributes, acquireConnection }),
      config,
      isUnreadable,
      json: (value: unknown) => Statement.fragment([PgJson(value)]),
      openListener: PgConnection.make({ ...config, applicationName: `${config.applicationName ?? "detent"} listener` }),
      listen: (channel: string) => Effect.flatMap(pool.reserve, (connection) => connection.listen(channel)),
      notify: (channel: string, payload: string) => Effect.asVoid(client`select pg_notify(${channel}, ${payload})::text`),
    })
  })

const makePool = (config: PgClientConfig) =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const { connectionTTL } = config
    let pool: Pool.Pool<PgConnection.PgConnection, SqlError> | undefined
    const acquire = Effect.flatMap(PgConnection.make(config), (connection) => {
      connection.onRetire = () => {
        if (pool !== undefined) run(Pool.invalidate(pool, connection))
      }
      if (connectionTTL === undefined) return Effect.succeed(connection)
      const retired = Effect.andThen(
        Effect.sleep(connectionTTL),
        Effect.sync(() => connection.onRetire()),
      )
      return Effect.as(Effect.forkScoped(retired), connection)
    })
    const made = yield* Pool.makeWithTTL({
      acquire,
      min: config.minConnections ?? 0,
      max: config.maxConnections ?? 10,
      timeToLive: config.idleTimeout ?? Duration.seconds(10),
      timeToLiveStrategy: "usage",
    })
    pool = made
    let isClosed = false
    // Set before the pool closes: from then on the pool interrupts every caller that asks for a connection, which is no wish of the caller.
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
      }),
    )
    const unlessClosed = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.catchCause(
        effect,
        (cause): Effect.Effect<never, E | SqlError> =>
          isClosed && Cause.hasInterruptsOnly(cause)
            ? Effect.fail(failure(new Error("The client is closed"), "acquire"))
            : Effect.failCause(cause),
      )
    const open: Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope> = Effect.flatMap(Pool.get(made), (connection) =>
      connection.ended === undefined ? Effect.succeed(connection) : Effect.andThen(Pool.invalidate(made, connection), open),
    )
    const { acquireTimeout } = config
    const get = unlessClosed(acquireTimeout === undefined ? open : inTime(open, acquireTimeout))
    return {
      get,
      use: <A, E, R>(f: (connection: Connection) => Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
        acquireTimeout === undefined ? unlessClosed(Pool.use(made, f)) : Effect.scoped(Effect.flatMap(get, f)),
      // A transaction that its user could not end, ends with its connection.
      reserve: Effect.tap(get, (connection) =>
        Effect.addFinalizer(() =>
          connection.isIdle ? Effect.void : Effect.sync(() => connection.end(new Error("A transaction was left open"))),
        ),
      ),
    }
  })

const inTime = <A, R>(effect: Effect.Effect<A, SqlError, R>, limit: Duration.Input): Effect.Effect<A, SqlError, R> =>
  Effect.timeoutOrElse(effect, {
    duration: limit,
    orElse: () => Effect.fail(failure(new Error("All connections of the pool are in use"), "acquire")),
  })

const execute = (connection: Connection, sql: string) => connection.execute(sql, [], undefined)

/** A transaction that cannot be rolled back is over with its connection: its user gets the failure, not a defect beside it. */
const undo = (connection: Connection, sql: string): Effect.Effect<void> =>
  Effect.catch(Effect.asVoid(execute(connection, sql)), (error) =>
    Effect.sync(() => connection instanceof PgConnection.PgConnection && connection.end(error)),
  )

/** PostgreSQL answers COMMIT with ROLLBACK, not with an error, when a statement of the transaction has failed. */
const commitOn = (connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    if ((result as { readonly command?: string }).command === "COMMIT") return Effect.void
    const message = "The transaction was rolled back: one of its statements had failed"
    return Effect.fail(new SqlError({ reason: new UnknownError({ cause: new Error(message), message, operation: "commit" }) }))
  })

const savepoint = (id: number): string => `detent_${id}`

const transactionControl = {
  begin: (connection: Connection, statement: string | undefined) =>
    Effect.asVoid(statement === undefined ? execute(connection, "BEGIN") : connection.executeUnprepared(statement, [], undefined)),
  commit: commitOn,
  rollback: (connection: Connection) => undo(connection, "ROLLBACK"),
  savepoint: (connection: Connection, id: number) => Effect.asVoid(execute(connection, `SAVEPOINT ${savepoint(id)}`)),
  releaseSavepoint: (connection: Connection, id: number) => undo(connection, `RELEASE SAVEPOINT ${savepoint(id)}`),
  rollbackSavepoint: (connection: Connection, id: number) => undo(connection, `ROLLBACK TO SAVEPOINT ${savepoint(id)}`),
}

interface PgJson extends Statement.Custom<"PgJson", unknown> {}
const PgJson = Statement.custom<PgJson>("PgJson")

const makeCompiler = (): Statement.Compiler =>
  Statement.makeCompiler<PgJson>({
    dialect: "pg",
    placeholder: (position) => `$${position}`,
    onIdentifier: Statement.defaultEscape('"'),
    onRecordUpdate: (placeholders, alias, columns, values, returning) => [
      `(values ${placeholders}) AS ${alias}${columns}${returning === undefined ? "" : ` RETURNING ${returning[0]}`}`,
      returning === undefined ? values.flat() : values.flat().concat(returning[1]),
    ],
    onCustom: (type, placeholder) => [placeholder(undefined), [jsonb(type.paramA)]],
  })

export const layer = (config: PgClientConfig): Layer.Layer<PgClient | Client.SqlClient, SqlError> =>
  Layer.effectContext(
    Effect.map(make(config), (client) => Context.make(PgClient, client).pipe(Context.add(Client.SqlClient, client))),
  ).pipe(Layer.provide(Reactivity.layer))
