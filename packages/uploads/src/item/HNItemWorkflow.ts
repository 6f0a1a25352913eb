/**
 * The workflow of one item, hn-item.json: ingested, validated, stored or failed. All of its processors are pure, so an item
 * comes to its end in the decision that begins it, and is stored with its insert.
 */
import { EntityWorkflow, Processor, Registry } from "@detent/entity"
import * as Schema from "effect/Schema"
import { HNItemEntity, Reading } from "./HNItemEntity.ts"
import { duplicateProblem, type ItemProblem } from "./ItemProblem.ts"

const decodeReading = Schema.decodeUnknownSync(Reading)

export const itemRegistry = Registry.make(HNItemEntity, {
  processors: {
    HNItemStoreProcessor: Processor.pure((item, { at }) => ({ ...item, storedAt: at })),
    HNItemFailureProcessor: Processor.pure((item, { at }) => ({ ...item, problem: problemOf(item), failedAt: at })),
    /** Begins anew with the item as it has been read again. */
    HNItemRetryProcessor: Processor.pure(({ batchId, itemIndex, sourceType, attempts }, { argument }) => ({
      batchId,
      itemIndex,
      sourceType,
      attempts: attempts + 1,
      ...decodeReading(argument),
    })),
  },
  criteria: {
    HNItemValidCriterion: (item) => item.problem === undefined && item.hnId !== undefined && item.type !== undefined,
    HNItemUniqueCriterion: (item) => item.duplicateOf === undefined,
  },
})

const problemOf = ({ problem, duplicateOf, hnId }: HNItemEntity): ItemProblem => {
  if (problem !== undefined) return problem
  if (duplicateOf !== undefined) return duplicateProblem(duplicateOf, hnId)
  return { reason: "invalid_field", message: "it has no id or no type" }
}

/** The workflow of items, from the text of its file. */
export const loadItemWorkflow = (text: string) => EntityWorkflow.fromJson(text, itemRegistry, { file: "hn-item.json" })
