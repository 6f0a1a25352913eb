/** A database that is away while a run writes: what was asked is asked again, and stored once. */
import { join } from "node:path"
import { contentHashOf } from "@detent/blobs/ContentHash"
import { MemUri } from "@detent/blobs/Storage"
import * as SqliteStore from "@detent/durable/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { defaultPipelineConfig, ExtractionRun, RunEnding } from "../../src/runs/Run.ts"
import { RunStore } from "../../src/runs/RunStore.ts"
import { documentIdOf, runIdOf } from "../../src/storage/Identity.ts"
import { folderWith, partOf } from "./Sea.ts"

const at = DateTime.makeUnsafe(1_800_000_000_123)
const inputUri = MemUri.make("mem://log/one.txt")

const run = new ExtractionRun({
  runId: runIdOf({ ...partOf(1), documentId: documentIdOf(inputUri) }),
  status: "running",
  statusVersion: 1,
  documentId: documentIdOf(inputUri),
  batchId: Option.some(partOf(1).batchId),
  attempt: 0,
  ontologyHash: contentHashOf("ontology"),
  schemaVersion: "1.0.0",
  inputUri,
  inputHash: Option.none(),
  config: defaultPipelineConfig,
  createdAt: at,
  startedAt: Option.some(at),
  completedAt: Option.none(),
  ending: Option.none(),
  errorMessage: Option.none(),
})

const gone = new SqlError({
  reason: new ConnectionError({ cause: new Error("the connection was cut"), message: "away", operation: "query" }),
})

interface Fault {
  /** How many transactions from now on are not heard of. */
  unheard: number
  /** Whether those are stored all the same. */
  isStored: boolean
}

/** The client of a real file, whose connection is cut when a transaction was to be stored, or just after it was. */
const cutting = (fault: Fault) =>
  Layer.effect(
    SqlClient,
    Effect.map(SqlClient, (sql) => {
      const withTransaction: SqlClient["withTransaction"] = (effect) =>
        Effect.suspend(() => {
          if (fault.unheard === 0) return sql.withTransaction(effect)
          fault.unheard--
          return fault.isStored ? Effect.andThen(sql.withTransaction(effect), Effect.die(gone)) : Effect.fail(gone)
        })
      const proxy: SqlClient = new Proxy(sql, {
        get: (target, key) => {
          if (key === "withTransaction") return withTransaction
          if (key === "withoutTransforms") return () => proxy
          return Reflect.get(target, key)
        },
      })
      return proxy
    }),
  )

const opened = (fault: Fault, patience: Duration.Input, log: Array<string> = []) =>
  Effect.map(folderWith({}), (root) => {
    const logger = Logger.make(({ logLevel, message }) => void log.push(`${logLevel} ${String(message)}`))
    return RunStore.layerWith({ patience }).pipe(
      Layer.provide(cutting(fault)),
      Layer.provide(SqliteStore.layer({ filename: join(root, "runs.db") })),
      Layer.provideMerge(Logger.layer([logger])),
    )
  })

describe("a store of runs whose database is away", () => {
  it.live("is asked again, with one warning in the log, however many ask", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const fault = { unheard: 0, isStored: false }
      yield* Effect.gen(function* () {
        const runs = yield* RunStore
        fault.unheard = 4
        const names = Array.from({ length: 20 }, (_, index) => index)
        const all = yield* Effect.forEach(
          names,
          (attempt) =>
            runs.create(new ExtractionRun({ ...run, runId: runIdOf({ ...partOf(1), documentId: run.documentId, attempt }), attempt })),
          {
            concurrency: "unbounded",
          },
        )
        expect(all).toHaveLength(20)
        expect(yield* runs.ofBatch(partOf(1).batchId)).toHaveLength(20)
        expect(log.filter((line) => line.startsWith("Warn"))).toEqual([expect.stringContaining("the connection was cut")])
        expect(log.filter((line) => line.includes("available again"))).toHaveLength(1)
      }).pipe(Effect.provide(yield* opened(fault, "10 seconds", log)))
    }),
  )

  it.live("has changed a status when nobody heard that it was stored, and tells no conflict", () =>
    Effect.gen(function* () {
      const fault = { unheard: 0, isStored: true }
      yield* Effect.gen(function* () {
        const runs = yield* RunStore
        fault.unheard = 1
        expect(yield* runs.create(run)).toEqual(run)
        fault.unheard = 1
        const failed = yield* runs.changeStatus(run, {
          expectedVersion: 1,
          status: "failed",
          at,
          ending: RunEnding.cases.Failed.make({ code: "Away", detail: "away" }),
        })
        expect(failed).toMatchObject({ status: "failed", statusVersion: 2 })
        expect(Option.getOrThrow(yield* runs.get(run.runId))).toEqual(failed)
        // A change by another process is reported all the same.
        fault.unheard = 1
        fault.isStored = false
        const told = yield* Effect.flip(runs.changeStatus(run, { expectedVersion: 1, status: "cancelled", at }))
        expect(told).toMatchObject({ _tag: "RunStatusConflict", actualVersion: 2 })
      }).pipe(Effect.provide(yield* opened(fault, "10 seconds")))
    }),
  )

  it.live("is given up when it stays away, with a failure that says so and can be tried again", () =>
    Effect.gen(function* () {
      const fault = { unheard: 0, isStored: false }
      yield* Effect.gen(function* () {
        const runs = yield* RunStore
        fault.unheard = 1_000_000
        const told = yield* Effect.flip(runs.create(run))
        expect(told).toMatchObject({ _tag: "RunStoreFailed", retryable: true })
        expect(told.message).toContain("the connection was cut; check the database, then resume")
        fault.unheard = 0
        expect(yield* runs.create(run)).toEqual(run)
      }).pipe(Effect.provide(yield* opened(fault, "300 millis")))
    }),
  )

  it.live("is not asked again for what it refuses", () =>
    Effect.gen(function* () {
      yield* Effect.gen(function* () {
        const runs = yield* RunStore
        const told = yield* Effect.flip(runs.create({ ...run, documentId: null as never }))
        expect(told).toMatchObject({ _tag: "RunStoreFailed", retryable: false })
      }).pipe(Effect.provide(yield* opened({ unheard: 0, isStored: false }, "10 minutes")))
    }),
  )
})
