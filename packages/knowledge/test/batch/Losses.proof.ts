/** Stored files of a batch that were damaged, removed or kept from being written. */
import { join } from "node:path"
import { zstdCompressSync } from "node:zlib"
import type { StorageService } from "@detent/blobs/Storage"
import { Journal, type JournalService } from "@detent/durable"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { PersistenceFailed } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Batches } from "../../src/batch/Batches.ts"
import { ExtractionFailed } from "../../src/extract/Extractor.ts"
import { RunEnding } from "../../src/runs/Run.ts"
import { endingText } from "../../src/runs/RunTables.ts"
import type { BatchId } from "../../src/storage/Identity.ts"
import { canonical, documentsOf, harbour, lookout, manifest } from "./sea.ts"

const files = documentsOf(4)
const names = Object.keys(files)
const config = { validation: "warn" } as const

/** Waits where the graph is read the second time, to resolve against it: everything is extracted by then. */
const pausing = () => {
  const [reached, open] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
  let reads = 0
  const storage = (one: StorageService): StorageService => ({
    ...one,
    get: (uri) =>
      Effect.suspend(() => {
        if (!uri.includes("/canonical/") || ++reads !== 2) return one.get(uri)
        Deferred.doneUnsafe(reached, Effect.void)
        return Effect.andThen(Deferred.await(open), one.get(uri))
      }),
  })
  return { storage, reached: Deferred.await(reached), open: Effect.sync(() => Deferred.doneUnsafe(open, Effect.void)) }
}

describe("a graph of one document that", () => {
  const bomb = zstdCompressSync(Buffer.alloc(50_000_000))
  const losses: Record<string, (sql: SqlClient, run: string) => Effect.Effect<unknown, unknown>> = {
    "is gone": (sql, run) => sql`delete from run_artifacts where run_id = ${run} and artifact_key = 'batch_0.nt'`,
    "was changed": (sql, run) => sql`update run_artifacts set content = 'x' where run_id = ${run} and artifact_key = 'batch_0.nt'`,
    "would unpack to much more than was packed": (sql, run) =>
      sql`update run_artifacts set content = null, packed = ${bomb} where run_id = ${run} and artifact_key = 'batch_0.nt'`,
  }
  const codes: Record<string, string> = { "is gone": "ArtifactMissing" }

  for (const [how, lose] of Object.entries(losses))
    it.live(`${how} stops the batch, and a retry extracts that document again and no other`, () =>
      Effect.gen(function* () {
        const asked: Array<string> = []
        const { storage, reached, open } = pausing()
        const { layer, folder, data } = yield* harbour({ files, extractor: lookout(asked), storage })
        yield* Effect.gen(function* () {
          const batches = yield* Batches
          const sql = yield* SqlClient
          const id = yield* batches.start(folder, manifest(names), { config })
          yield* reached
          const [run] = yield* sql<{ readonly run_id: string }>`select run_id from extraction_runs order by document_id limit 1 offset 1`
          yield* lose(sql, run?.run_id ?? "")
          yield* open
          const stopped = yield* batches.awaitEnd(id)
          expect(stopped).toMatchObject({ _tag: "Failed", failedInStage: "resolving", error: { code: codes[how] ?? "ArtifactDamaged" } })
          expect(stopped._tag === "Failed" ? stopped.error.message : "").toContain("retry the batch, which makes it again")
          expect((yield* canonical(data)).lines).toEqual([])
          expect(asked).toHaveLength(4)
          yield* batches.retry(id)
          expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 4, documentsFailed: 0 })
          expect((yield* canonical(data)).passings).toBe(4)
          expect(asked).toHaveLength(5)
        }).pipe(Effect.provide(layer))
      }),
    )
})

describe("a batch whose process died", () => {
  it.live("after it had ended its runs, and before it could say that it failed, loses none of their documents", () =>
    Effect.gen(function* () {
      let isStuck = true
      const reached = Deferred.makeUnsafe<void>()
      const extractor = lookout([], () => {
        if (!isStuck) return Effect.void
        Deferred.doneUnsafe(reached, Effect.void)
        return Effect.never
      })
      const { layer, folder, data, root } = yield* harbour({ files, extractor })
      const id = yield* Effect.gen(function* () {
        const id = yield* Effect.flatMap(Batches, (batches) => batches.start(folder, manifest(names), { config }))
        yield* Deferred.await(reached)
        return id
      }).pipe(Effect.provide(layer))
      // All that ending a run stores.
      yield* Effect.flatMap(
        SqlClient,
        (sql) => sql`update extraction_runs set status = 'cancelled', status_version = 2, completed_at = ${Date.now()},
          ending = ${endingText(RunEnding.cases.BatchFailed.make({}))} where status = 'running'`,
      ).pipe(Effect.provide(SqliteStore.layer({ filename: join(root, "batches.db") })))
      isStuck = false
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 4, documentsFailed: 0 })
        expect((yield* canonical(data)).passings).toBe(4)
      }).pipe(Effect.provide(layer))
    }),
  )
})

describe("a batch whose database takes nothing for longer than it is waited for", () => {
  it.live("resumes by itself when it does again, and has lost no document", () =>
    Effect.gen(function* () {
      const [reached, open] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      let begun = 0
      const extractor = lookout([], () => {
        if (++begun === names.length) Deferred.doneUnsafe(reached, Effect.void)
        return Deferred.await(open)
      })
      const { layer, folder, data } = yield* harbour({ files, extractor, patience: "200 millis" })
      yield* Effect.gen(function* () {
        const batches = yield* Batches
        const sql = yield* SqlClient
        const id = yield* batches.start(folder, manifest(names), { config })
        yield* Deferred.await(reached)
        // As on a disk that is full: what is there can be read, and nothing is stored.
        yield* sql`pragma query_only = on`
        Deferred.doneUnsafe(open, Effect.void)
        yield* Effect.sleep("1500 millis")
        yield* sql`pragma query_only = off`
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 4, documentsFailed: 0, attempt: 0 })
        expect((yield* canonical(data)).passings).toBe(4)
      }).pipe(Effect.provide(layer))
    }),
  )
})

describe("a batch that failed and cannot end its runs, since the database does not take that", () => {
  /** One document fails at once, and with it the batch; the others would never end. */
  const stuck = Effect.gen(function* () {
    const work = { isBroken: true }
    const [first] = Object.values(files)
    const away = new ExtractionFailed({ extractor: "lookout", reason: "Unavailable", retryable: false, detail: "away" })
    const begun = Deferred.makeUnsafe<void>()
    let others = 0
    const extractor = lookout([], ({ text }) => {
      if (!work.isBroken) return Effect.void
      if (text === first) return Effect.andThen(Deferred.await(begun), Effect.fail(away))
      if (++others === names.length - 1) Deferred.doneUnsafe(begun, Effect.void)
      return Effect.never
    })
    // Ending an execution from outside is an event of it; all else is taken.
    const full = new PersistenceFailed({ machine: "extraction", operation: "commit", cause: new Error("the disk is full") })
    const refusing = Layer.effect(
      Journal,
      Effect.map(Journal, (journal) => {
        const commit: JournalService["commit"] = (commits) =>
          work.isBroken && commits.some(({ events }) => events.some(({ tag }) => tag === "Interrupt"))
            ? Effect.fail(full)
            : journal.commit(commits)
        return new Proxy(journal, { get: (target, key) => (key === "commit" ? commit : Reflect.get(target, key)) })
      }),
    )
    const store = (filename: string) => Layer.provideMerge(refusing, SqliteStore.layer({ filename }))
    const place = yield* harbour({ files, extractor, store })
    const failing = Effect.gen(function* () {
      const batches = yield* Batches
      const sql = yield* SqlClient
      const id = yield* batches.start(place.folder, manifest(names), { config: { ...config, failurePolicy: "failFast" } })
      while ((yield* sql`select 1 from extraction_runs where status = 'cancelled'`).length === 0) yield* Effect.sleep("20 millis")
      return id
    })
    const mended = (id: BatchId) =>
      Effect.gen(function* () {
        work.isBroken = false
        const batches = yield* Batches
        const end = yield* batches.awaitEnd(id)
        if (end._tag === "Failed") yield* batches.resume(id)
        expect(yield* batches.awaitEnd(id)).toMatchObject({ _tag: "Completed", documentsCompleted: 4, documentsFailed: 0 })
        expect((yield* canonical(place.data)).passings).toBe(4)
      }).pipe(Effect.provide(place.layer))
    return { ...place, failing, mended }
  })

  it.live("says after some seconds that it failed, and continues when it is resumed", () =>
    Effect.gen(function* () {
      const { layer, failing, mended } = yield* stuck
      const id = yield* Effect.gen(function* () {
        const id = yield* failing
        expect(yield* Effect.flatMap(Batches, (batches) => batches.awaitEnd(id))).toMatchObject({ _tag: "Failed" })
        return id
      }).pipe(Effect.provide(layer))
      yield* mended(id)
    }),
  )

  it.live("does not keep its process from stopping, and continues with the next", () =>
    Effect.gen(function* () {
      const { layer, failing, mended } = yield* stuck
      yield* mended(yield* Effect.provide(failing, layer))
    }),
  )
})
