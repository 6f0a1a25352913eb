/** What the work on batches stands on. */
import type { EngineService } from "@detent/durable"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Notice } from "../batch/BatchWork.ts"
import type { UploadLimits } from "../file/UploadLimits.ts"
import type { loadItemWorkflow } from "../item/HNItemWorkflow.ts"
import type { ItemCheck } from "../item/ReadItem.ts"
import type { UploadStore } from "../store/UploadStore.ts"

export interface Uploading {
  readonly engine: EngineService
  readonly store: UploadStore
  readonly itemWorkflow: Effect.Success<ReturnType<typeof loadItemWorkflow>>
  readonly limits: UploadLimits
  readonly check: ItemCheck | undefined
  readonly notify: ((notice: Notice) => Effect.Effect<void, unknown>) | undefined
  /** For how long a database that fails is asked again. */
  readonly storeTimeout: Duration.Duration
}
