/** A database of its own in the PostgreSQL of the test run. */
import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { inject } from "vitest"
import * as PostgresStore from "../../src/PostgresStore.ts"

const adminLayer = () => PgClient.layer({ url: Redacted.make(inject("postgresUrl")), maxConnections: 1 })

/** Makes a database, gives its address, and drops it when the scope ends. */
export const freshDatabase = Effect.map(
  Effect.acquireRelease(
    Effect.gen(function* () {
      const name = `test_${randomBytes(8).toString("hex")}`
      const sql = yield* PgClient.PgClient
      yield* sql.unsafe(`create database ${name}`)
      return name
    }).pipe(Effect.provide(Layer.fresh(Layer.suspend(adminLayer)))),
    (name) =>
      Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(`drop database ${name} with (force)`)).pipe(
        Effect.provide(Layer.fresh(Layer.suspend(adminLayer))),
        Effect.orDie,
      ),
  ),
  (name) => {
    const url = new URL(inject("postgresUrl"))
    url.pathname = `/${name}`
    return url.href
  },
)

/** The store in a database of its own. */
export const postgresLayer = Layer.unwrap(Effect.map(freshDatabase, (url) => PostgresStore.layer({ url })))

/** The store in tables of its own, in the database that all tests share: a database of its own takes ten times as long to make. */
export const postgresSchemaLayer = Layer.suspend(() =>
  PostgresStore.layer({ url: inject("postgresUrl"), schema: `test_${randomBytes(8).toString("hex")}`, maxConnections: 4 }),
)
