/**
 * Uploads of files of Hacker News items: each file is a batch, each item an instance, all of it kept through crashes.
 *
 * ```ts
 * const uploads = yield* Uploads
 * const { batchId } = yield* uploads.start("items.json")
 * const status = yield* uploads.finished(batchId)
 * const page = yield* uploads.search({ text: "rust -crypto", type: "story" })
 * ```
 */
import { readFileSync } from "node:fs"
import { Engine } from "@detent/durable"
import type { EntityWorkflowError } from "@detent/entity"
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MigrationError } from "effect/unstable/sql/Migrator"
import type { SqlClient } from "effect/unstable/sql/SqlClient"
import type { SqlError } from "effect/unstable/sql/SqlError"
import type { Notice } from "./batch/BatchWork.ts"
import { loadBatchWorkflow } from "./batch/UploadBatchWorkflow.ts"
import { defaultLimits, type UploadLimits } from "./file/UploadLimits.ts"
import { loadItemWorkflow } from "./item/HNItemWorkflow.ts"
import type { ItemCheck } from "./item/ReadItem.ts"
import { makeBatchWork } from "./stages/makeBatchWork.ts"
import type { Uploading } from "./stages/Uploading.ts"
import { UploadStore } from "./store/UploadStore.ts"
import { UploadService, type UploadsService } from "./UploadService.ts"

export interface UploadsOptions extends Partial<UploadLimits> {
  /** Checks every item that passed the built-in checks; returns the reason to refuse it. */
  readonly check?: ItemCheck
  /** Called when a batch is completed, partially completed or failed: at least once, always with the same `key`. */
  readonly notify?: (notice: Notice) => Effect.Effect<void, unknown>
  /** Folder of received files. Default: `uploads` in the current folder. */
  readonly folder?: string
  /** Schema of the tables on PostgreSQL. Default: `detent`. */
  readonly schema?: string
  /** How long a failing database is retried before the batch fails. Default: one minute. */
  readonly storeTimeout?: Duration.Input
}

const make = (options: UploadsOptions) =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const store = yield* UploadStore.open(options.schema ?? "detent")
    const itemWorkflow = yield* loadItemWorkflow(readDefinition("hn-item.json"))
    const uploading: Uploading = {
      engine,
      store,
      itemWorkflow,
      limits: limitsOf(options),
      check: options.check,
      notify: options.notify,
      storeTimeout: Duration.fromInputUnsafe(options.storeTimeout ?? "1 minute"),
    }
    const batchWorkflow = yield* loadBatchWorkflow(readDefinition("upload-batch.json"), makeBatchWork(uploading))
    yield* engine.register(itemWorkflow.machine)
    yield* engine.register(batchWorkflow.machine)
    return new UploadService(uploading, batchWorkflow, options.folder ?? "uploads")
  })

/** The workflows are files of this package, for people to read and change. */
export const readDefinition = (name: "upload-batch.json" | "hn-item.json"): string =>
  readFileSync(new URL(`../${name}`, import.meta.url), "utf8")

const limitsOf = (options: UploadsOptions): UploadLimits => {
  const { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes } = { ...defaultLimits, ...options }
  return { maxFileBytes, maxUnpackedBytes, maxUnpackRatio, maxItemBytes }
}

export class Uploads extends Context.Service<Uploads, UploadsService>()("@detent/uploads/Uploads") {
  /** Uses the database of the engine's store. Unfinished batches resume. */
  static readonly layer = (
    options: UploadsOptions = {},
  ): Layer.Layer<Uploads, EntityWorkflowError | MigrationError | SqlError | PersistenceFailed, Engine | SqlClient> =>
    Layer.effect(Uploads, make(options))
}
