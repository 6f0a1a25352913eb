/** A batch whose PostgreSQL goes away while its documents are extracted. */

import * as PgClient from "@detent/durable/PgClient"
import * as PostgresStore from "@detent/durable/PostgresStore"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { scaled } from "../../../store/test/support/patience.ts"
import { startRestartable } from "../../../store/test/support/RestartableServer.ts"
import { BatchEventLog } from "../../src/batch/BatchEventLog.ts"
import { Batches } from "../../src/batch/Batches.ts"
import { BatchId, DocumentId } from "../../src/storage/Identity.ts"
import { canonical, documentsOf, harbour, lookout, manifest } from "../batch/sea.ts"

const files = documentsOf(8)
const config = { validation: "warn", concurrency: 4 } as const

/** Documents come to a gate after two of them, and resume when it is opened. */
const gated = () => {
  const [reached, open] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  let asked = 0
  const extractor = lookout([], () => {
    if (++asked <= 2) return Effect.void
    Deferred.doneUnsafe(reached, Effect.void)
    return Deferred.await(open)
  })
  return {
    extractor,
    asked: () => asked,
    reached: Deferred.await(reached),
    open: Effect.sync(() => Deferred.doneUnsafe(open, Effect.void)),
  }
}

/** Statements of the database wait for a lock only this long. */
const giveUpOnLocks = (url: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) =>
    sql.unsafe(`alter database ${new URL(url).pathname.slice(1)} set lock_timeout = '${Math.ceil(scaled(100))}ms'`),
  ).pipe(Effect.provide(admin(url)))

/** Locks tables until `release` is executed. */
const lock = (url: string, tables: string) =>
  Effect.gen(function* () {
    const [held, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const holding = yield* Effect.forkChild(
      Effect.flatMap(PgClient.PgClient, (sql) =>
        sql.withTransaction(
          Effect.gen(function* () {
            // Another transaction may write at this moment.
            yield* sql`set local lock_timeout = 0`
            yield* sql.unsafe(`lock table ${tables} in access exclusive mode`)
            yield* Deferred.succeed(held, undefined)
            yield* Deferred.await(release)
          }),
        ),
      ).pipe(Effect.provide(admin(url))),
    )
    yield* Deferred.await(held)
    return { release: Effect.andThen(Deferred.succeed(release, undefined), Fiber.join(holding)) }
  })

const admin = (url: string) => Layer.fresh(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))

describe("a batch on PostgreSQL", () => {
  it.live("loses no document when the database starts anew in between", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => startRestartable()),
        ({ remove }) => Effect.promise(() => remove()),
      )
      const { extractor, asked, reached, open } = gated()
      const { layer, folder, data } = yield* harbour({ files, extractor, store: () => PostgresStore.layer({ url: server.url }) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(Object.keys(files)), { config })
        yield* reached
        yield* Effect.promise(() => server.stop())
        yield* open
        yield* Effect.sleep("2 seconds")
        yield* Effect.promise(() => server.start())
        const end = Effect.retry(batches.awaitEnd(id), { schedule: Schedule.spaced("200 millis"), times: 50 })
        expect(yield* end).toMatchObject({ _tag: "Completed", documentsCompleted: 8, documentsFailed: 0 })
        expect((yield* canonical(data)).passings).toBe(8)
        expect(asked()).toBe(8)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("loses no document when its connections are cut again and again", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const { extractor, asked, reached, open } = gated()
      const { layer, folder, data } = yield* harbour({ files, extractor, store: () => PostgresStore.layer({ url }) })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(Object.keys(files)), { config })
        yield* reached
        const cut = Effect.flatMap(
          PgClient.PgClient,
          (sql) =>
            sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
        )
        const cutting = yield* Effect.forkChild(
          Effect.provide(Effect.replicateEffect(Effect.andThen(cut, Effect.sleep("40 millis")), 40), admin(url)),
        )
        yield* open
        yield* Fiber.join(cutting)
        const ended = yield* batches.awaitEnd(id)
        expect(ended, JSON.stringify("error" in ended ? ended.error : {})).toMatchObject({
          _tag: "Completed",
          documentsCompleted: 8,
          documentsFailed: 0,
        })
        expect((yield* canonical(data)).passings).toBe(8)
        expect(asked()).toBe(8)
      }).pipe(Effect.provide(layer))
    }),
  )

  it.live("reads the results of its documents again while the database refuses", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* giveUpOnLocks(url)
      const client = Layer.fresh(PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
      yield* Effect.gen(function* () {
        const { counts, standings, documents } = yield* BatchEventLog
        const batch = BatchId.make("batch-000000000000")
        const { release } = yield* lock(url, "detent.batch_documents")
        const document = DocumentId.make("doc-000000000000")
        const reads = Effect.all([counts(batch), standings(batch, [document]), documents(batch)], { concurrency: 1 })
        const reading = yield* Effect.forkChild(reads)
        // Three times as long as a statement waits.
        yield* Effect.sleep(scaled(300))
        expect(reading.pollUnsafe()).toBeUndefined()
        yield* release
        expect(yield* Fiber.join(reading)).toEqual([{ processing: 0, completed: 0, failed: 0, "set-aside": 0 }, new Map(), []])
      }).pipe(Effect.provide(Layer.provideMerge(BatchEventLog.layer(), client)))
    }),
  )

  it.live("stops where the runs stay away, fails no document for it, and is completed when it is resumed", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* giveUpOnLocks(url)
      const { extractor, reached, open } = gated()
      const store = () => PostgresStore.layer({ url })
      const { layer, folder, data } = yield* harbour({ files, extractor, store, patience: "500 millis" })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const id = yield* batches.start(folder, manifest(Object.keys(files)), { config })
        yield* reached
        const { release } = yield* lock(url, "detent.run_checkpoints, detent.extraction_runs")
        yield* open
        const stopped = yield* batches.awaitEnd(id)
        expect(stopped).toMatchObject({ _tag: "Failed", documentsFailed: 0, error: { code: "RunStoreFailed" } })
        expect(stopped._tag === "Failed" ? stopped.error.message : "").toContain("check the database, then resume")
        yield* release
        yield* batches.resume(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 8, documentsFailed: 0 })
        expect((yield* canonical(data)).passings).toBe(8)
      }).pipe(Effect.provide(layer))
    }),
  )
})
