/**
 * The workflow of one item of any kind, upload-item.json: ingested, validated, stored or failed. All its processors are pure, so the
 * first decision of an item is also its last, and one insert stores it.
 */
import { EntityWorkflow, Processor, Registry } from "@detent/entity"
import * as Schema from "effect/Schema"
import { ItemEntity, Reading } from "./ItemEntity.ts"
import { duplicateProblem, type ItemProblem } from "./ItemProblem.ts"

const decodeReading = Schema.decodeUnknownSync(Reading)

const registry = Registry.make(ItemEntity, {
  processors: {
    UploadItemStoreProcessor: Processor.pure((item: ItemEntity, { at }) => ({ ...item, storedAt: at })),
    UploadItemFailureProcessor: Processor.pure((item: ItemEntity, { at }) => ({ ...item, problem: problemOf(item), failedAt: at })),
    /** Starts a new attempt with the newly read item. */
    UploadItemRetryProcessor: Processor.pure(({ batchId, itemIndex, sourceType, attempts }: ItemEntity, { argument }) => ({
      batchId,
      itemIndex,
      sourceType,
      attempts: attempts + 1,
      ...decodeReading(argument),
    })),
  },
  criteria: {
    UploadItemValidCriterion: ({ problem, itemId }: ItemEntity) => problem === undefined && itemId !== undefined,
    UploadItemUniqueCriterion: ({ duplicateOf }: ItemEntity) => duplicateOf === undefined,
  },
})

const problemOf = ({ problem, duplicateOf, itemId }: ItemEntity): ItemProblem => {
  if (problem !== undefined) return problem
  return duplicateOf === undefined ? { reason: "missing_id", message: "it has no id" } : duplicateProblem(duplicateOf, itemId)
}

/** The workflow of items, from the text of its file. */
export const loadItemWorkflow = (text: string) => EntityWorkflow.fromJson(text, registry, { file: "upload-item.json" })
