/** The workflow of a batch, upload-batch.json, with what its processors do. */
import { EntityWorkflow, type EntityWorkflowError, Registry } from "@detent/entity"
import type * as Effect from "effect/Effect"
import type { BatchWork } from "./BatchWork.ts"
import { criteria } from "./criteria.ts"
import { processors } from "./processors.ts"
import { UploadBatch } from "./UploadBatch.ts"

/** The workflow of batches, from the text of its file. */
export const loadBatchWorkflow = (
  text: string,
  work: BatchWork,
): Effect.Effect<EntityWorkflow.EntityWorkflow<UploadBatch, string, string, never>, EntityWorkflowError> =>
  EntityWorkflow.fromJson(text, Registry.make(UploadBatch, { processors: processors(work), criteria }), { file: "upload-batch.json" })
