/** A database of its own in the PostgreSQL of the test run. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { SqlClient } from "effect/sql/SqlClient"
import { inject } from "vitest"
import * as PgClient from "../../src/driver/PgClient.ts"
import * as PostgresStore from "../../src/PostgresStore.ts"
import { layerListener, type PgListener } from "../../src/postgres/PgListener.ts"

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

/** Schemas that tests have used. To make the tables takes longer than most tests, so the tables are emptied and used again. */
const used: Array<string> = []

/** A connection that was cut may write for a moment longer: a schema rests while tests use as many others. */
const resting = 6

/**
 * The connections of all tests that share the database. They are open until the test process ends: to make some for each test, and to
 * plan every statement on them anew, takes longer than most tests.
 */
let sharing: Promise<Context.Context<PgClient.PgClient | SqlClient | PgListener>> | undefined

const shared = (): NonNullable<typeof sharing> => {
  const client = PgClient.layer({ url: Redacted.make(inject("postgresUrl")), minConnections: 2, maxConnections: 8, maxMessageSize })
  sharing ??= Effect.runPromise(Layer.buildWithScope(layerListener.pipe(Layer.provideMerge(client)), Scope.makeUnsafe()))
  return sharing
}

/** As the store sets it for connections of its own. */
const maxMessageSize = 256 * 1024 * 1024

const emptied = async (schema: string) => {
  const sql = Context.get(await shared(), PgClient.PgClient)
  const statement = `do $$ declare name text; begin
    for name in select tablename from pg_tables where schemaname = '${schema}' and tablename not in ('migrations', 'database') loop
      execute format('delete from ${schema}.%I', name);
    end loop;
    perform setval(format('${schema}.%I', sequencename)::regclass, start_value, false) from pg_sequences where schemaname = '${schema}';
  end $$`
  await Effect.runPromise(sql.unsafe(statement))
}

const emptySchema = Effect.acquireRelease(
  Effect.promise(async () => {
    const schema = used.length > resting ? used.shift() : undefined
    if (schema === undefined) return `test_${randomBytes(8).toString("hex")}`
    await emptied(schema)
    return schema
  }),
  (schema) => Effect.sync(() => used.push(schema)),
)

/** The store in empty tables that no other test uses, in the database that all tests share: to make a database takes ten times as long. */
export const postgresSchemaLayer = Layer.unwrap(
  Effect.map(emptySchema, (schema) =>
    PostgresStore.layerSql({ schema }).pipe(Layer.provideMerge(Layer.effectContext(Effect.promise(shared))), Layer.orDie),
  ),
)
