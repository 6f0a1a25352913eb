import * as PgClient from "@detent/durable/PgClient"
import * as PostgresStore from "@detent/durable/PostgresStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { harbour } from "../batch/sea.ts"

const tables = [
  "batch_artifacts",
  "batch_documents",
  "extraction_runs",
  "knowledge_migrations",
  "model_answers",
  "run_artifacts",
  "run_checkpoints",
]

const asking = <A, E>(url: string, ask: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(PgClient.PgClient, ask).pipe(Effect.provide(Layer.fresh(PgClient.layer({ url: Redacted.make(url) }))))

const tablesIn = (url: string, schema: string) =>
  asking(url, (sql) =>
    Effect.map(
      sql<{ readonly name: string }>`select tablename::text as name from pg_tables where schemaname = ${schema} order by tablename`,
      (rows) => rows.map(({ name }) => name),
    ),
  )

describe("the tables of knowledge on PostgreSQL", () => {
  it.live("are in the schema detent", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const { layer } = yield* harbour({ files: {}, store: () => PostgresStore.layer({ url }) })
      yield* Effect.provide(Batches, layer)
      assert.includeMembers(yield* tablesIn(url, "detent"), tables)
      assert.deepStrictEqual(yield* tablesIn(url, "public"), [])
    }),
  )

  it.live("leave tables of other programs with the same names where they are", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* asking(url, (sql) => sql`create table run_artifacts (owner text)`)
      const { layer } = yield* harbour({ files: {}, store: () => PostgresStore.layer({ url }) })
      yield* Effect.provide(Batches, layer)
      assert.deepStrictEqual(yield* tablesIn(url, "public"), ["run_artifacts"])
      assert.includeMembers(yield* tablesIn(url, "detent"), tables)
    }),
  )
})
