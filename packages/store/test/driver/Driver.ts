/** A driver for PostgreSQL that the conformance suite runs against, and what the tests ask the server behind its back. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { inject } from "vitest"
import * as PgClient from "../../src/driver/PgClient.ts"
import type { PostgresDriver } from "../../src/driver/PostgresDriver.ts"

export interface DriverOptions {
  readonly url: string
  readonly minConnections?: number
  readonly maxConnections?: number
  readonly maxMessageSize?: number
  readonly idleTimeout?: string
  readonly connectionTTL?: string
  readonly prepare?: boolean
  readonly preparedStatements?: number
}

export interface Driver {
  readonly name: string
  readonly layer: (options: DriverOptions) => Layer.Layer<SqlClient, SqlError>
}

export type Client = SqlClient & PostgresDriver & Pick<PgClient.PgClient, "json">

export const ownDriver: Driver = {
  name: "PgClient",
  layer: ({ url, ...options }) => PgClient.layer({ url: Redacted.make(url), ...options } as PgClient.PgClientConfig),
}

/** A client of the driver, closed with the scope. */
export const open = (driver: Driver, options: Partial<DriverOptions> = {}): Effect.Effect<Client, SqlError, Scope.Scope> =>
  Effect.map(
    Layer.build(Layer.fresh(driver.layer({ url: inject("postgresUrl"), ...options }))),
    (context) => Context.get(context, SqlClient) as Client,
  )

/** A second client, which looks at the sessions of the first. */
export const observer = open(ownDriver, { maxConnections: 1 })

export const freshName = (): string => `t_${randomBytes(6).toString("hex")}`

export const pidOf = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(sql<{ readonly pid: number }>`select pg_backend_pid() as pid`, ([row]) => row?.pid ?? 0)

/** Ends the session, and waits until it is gone. */
export const kill = (watching: SqlClient, pid: number) => Effect.asVoid(watching`select pg_terminate_backend(${pid}, 30000)`)

interface Session {
  readonly pid: number
  readonly state: string | null
  readonly query: string
}

export const sessions = (watching: SqlClient, text: string) =>
  watching<Session>`select pid, state, query from pg_stat_activity where query like ${`%${text}%`} and pid <> pg_backend_pid()`

/** Waits for a condition; fails after half a minute. */
export const until = <A, E, R>(what: string, read: Effect.Effect<A, E, R>, isMet: (value: A) => boolean): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const deadline = performance.now() + 30_000
    for (;;) {
      const value = yield* read
      if (isMet(value)) return value
      if (performance.now() > deadline)
        return yield* Effect.die(new Error(`waited in vain until ${what}: ${String(JSON.stringify(value))}`))
      yield* Effect.sleep("20 millis")
    }
  })

/** The failure, if there is nothing but one typed failure. */
export const failureOf = <A, E>(exit: Exit.Exit<A, E>): E | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const [reason, ...others] = exit.cause.reasons
  return others.length === 0 && reason?._tag === "Fail" ? reason.error : undefined
}

export const reasonOf = <A>(exit: Exit.Exit<A, SqlError>): string | undefined => failureOf(exit)?.reason._tag
