import * as PgClient from "@detent/durable/PgClient"
import * as PostgresStore from "@detent/durable/PostgresStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { documentsOf, harbour, manifest } from "../batch/sea.ts"

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
  it.live("are in the schema detent, also those that the version before had made in public, with their rows", () =>
    Effect.gen(function* () {
      const files = documentsOf(3)
      const url = yield* freshDatabase
      const { layer, folder } = yield* harbour({ files: { ...files, "empty.txt": "" }, store: () => PostgresStore.layer({ url }) })
      const id = yield* Effect.gen(function* () {
        const batches = yield* Batches
        const started = yield* batches.start(folder, manifest([...Object.keys(files), "empty.txt"]), { config: { validation: "warn" } })
        assert.strictEqual((yield* batches.awaitEnd(started))._tag, "PartiallyCompleted")
        return started
      }).pipe(Effect.provide(layer))
      assert.includeMembers(yield* tablesIn(url, "detent"), tables)
      assert.deepStrictEqual(yield* tablesIn(url, "public"), [])

      // As the version before has them.
      yield* asking(url, (sql) =>
        Effect.forEach(tables, (table) => sql.unsafe(`alter table detent.${table} set schema public`), { discard: true }),
      )
      yield* Effect.gen(function* () {
        const runs = yield* Effect.flatMap(RunStore, (store) => store.ofBatch(id))
        assert.deepStrictEqual(runs.map(({ status }) => status).toSorted(), ["failed", "succeeded", "succeeded", "succeeded"])
        assert.deepInclude(yield* Effect.flatMap(BatchEventLog, (log) => log.counts(id)), { completed: 3, failed: 1 })
        const batches = yield* Batches
        yield* batches.retry(id)
        assert.deepInclude(yield* batches.awaitEnd(id), { _tag: "PartiallyCompleted", documentsCompleted: 3, attempt: 1 })
      }).pipe(Effect.provide(layer))
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
