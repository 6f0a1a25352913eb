/** A client for PostgreSQL: a pool of connections of node-postgres. Borrowed for one statement, reserved for a transaction. */
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
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as PgConnection from "./PgConnection.ts"
import { jsonb } from "./PgParameters.ts"

export interface PgClientConfig extends PgConnection.Config {
  /** Default: 0. */
  readonly minConnections?: number | undefined
  /** Default: 10. */
  readonly maxConnections?: number | undefined
  /** After how long an unused connection is closed. Default: 10 seconds. */
  readonly idleTimeout?: Duration.Input | undefined
}

export interface PgClient extends Client.SqlClient {
  readonly config: PgClientConfig
  readonly json: (value: unknown) => Statement.Fragment
  readonly listen: (channel: string) => Effect.Effect<Queue.Dequeue<PgConnection.Notification, SqlError>, SqlError, Scope.Scope>
  readonly notify: (channel: string, payload: string) => Effect.Effect<void, SqlError>
}

export const PgClient = Context.Service<PgClient>("@detent/durable/PgClient")

export const make = (config: PgClientConfig): Effect.Effect<PgClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const pool = yield* makePool(config)
    const client = yield* Client.make({
      driver: "pg",
      compiler: makeCompiler(),
      acquirer: pool.get,
      borrower: pool.use,
      transactionAcquirer: pool.reserve,
      prepareTransactionControls: true,
      releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
      commit: commitOn,
      spanAttributes: [["db.system.name", "postgresql"]],
    })
    return Object.assign(client, {
      config,
      json: (value: unknown) => Statement.fragment([PgJson(value)]),
      listen: (channel: string) => Effect.flatMap(pool.reserve, (connection) => connection.listen(channel)),
      notify: (channel: string, payload: string) => Effect.asVoid(client`select pg_notify(${channel}, ${payload})::text`),
    })
  })

/** PostgreSQL answers COMMIT with ROLLBACK, not with an error, when a statement of the transaction has failed. */
const commitOn = (connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) => {
    if ((result as { readonly command?: string }).command === "COMMIT") return Effect.void
    const message = "The transaction was rolled back: one of its statements had failed"
    return Effect.fail(new SqlError({ reason: new ConnectionError({ cause: new Error(message), message, operation: "commit" }) }))
  })

const makePool = (config: PgClientConfig) =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
    let pool: Pool.Pool<PgConnection.PgConnection, SqlError> | undefined
    const acquire = Effect.map(PgConnection.make(config), (connection) => {
      connection.onRetire = () => {
        if (pool !== undefined) run(Pool.invalidate(pool, connection))
      }
      return connection
    })
    const made = yield* Pool.makeWithTTL({
      acquire,
      min: config.minConnections ?? 0,
      max: config.maxConnections ?? 10,
      timeToLive: config.idleTimeout ?? Duration.seconds(10),
      timeToLiveStrategy: "usage",
    })
    pool = made
    const get: Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope> = Effect.flatMap(Pool.get(made), (connection) =>
      connection.ended === undefined ? Effect.succeed(connection) : Effect.andThen(Pool.invalidate(made, connection), get),
    )
    return {
      get,
      use: <A, E, R>(f: (connection: Connection) => Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> => Pool.use(made, f),
      // A transaction that its user could not end, ends with its connection.
      reserve: Effect.tap(get, (connection) =>
        Effect.addFinalizer(() =>
          connection.isIdle ? Effect.void : Effect.sync(() => connection.end(new Error("A transaction was left open"))),
        ),
      ),
    }
  })

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
