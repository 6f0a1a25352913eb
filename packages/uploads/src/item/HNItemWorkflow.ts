/**
 * The workflow of one item, hn-item.json: ingested, validated, stored or failed. All its processors are pure, so the first decision of
 * an item is also its last, and one insert stores it. Every kind has this workflow, with its own machine name.
 */
import { EntityWorkflow, Processor, Registry } from "@detent/entity"
import * as Schema from "effect/Schema"
import { HNItemEntity, Reading } from "./HNItemEntity.ts"
import { duplicateProblem, type ItemProblem } from "./ItemProblem.ts"

const decodeReading = Schema.decodeUnknownSync(Reading)

/** The machine name of Hacker News items, which the file hn-item.json contains. */
const hackerNews = "HNItem"

const registryOf = (machine: string) =>
  Registry.make(HNItemEntity, {
    processors: {
      [`${machine}StoreProcessor`]: Processor.pure((item: HNItemEntity, { at }) => ({ ...item, storedAt: at })),
      [`${machine}FailureProcessor`]: Processor.pure((item: HNItemEntity, { at }) => ({ ...item, problem: problemOf(item), failedAt: at })),
      /** Starts a new attempt with the newly read item. */
      [`${machine}RetryProcessor`]: Processor.pure(({ batchId, itemIndex, sourceType, attempts }: HNItemEntity, { argument }) => ({
        batchId,
        itemIndex,
        sourceType,
        attempts: attempts + 1,
        ...decodeReading(argument),
      })),
    },
    criteria: {
      [`${machine}ValidCriterion`]: ({ problem, hnId, type, itemId }: HNItemEntity) =>
        problem === undefined && (itemId !== undefined || (hnId !== undefined && type !== undefined)),
      [`${machine}UniqueCriterion`]: (item: HNItemEntity) => item.duplicateOf === undefined,
    },
  })

const problemOf = ({ problem, duplicateOf, hnId, itemId }: HNItemEntity): ItemProblem => {
  if (problem !== undefined) return problem
  if (duplicateOf !== undefined) return duplicateProblem(duplicateOf, itemId ?? hnId)
  return { reason: "invalid_field", message: "it has no id or no type" }
}

/** The workflow of items, from the text of its file. */
export const loadItemWorkflow = (text: string, machine: string = hackerNews) =>
  EntityWorkflow.fromJson(text.replaceAll(hackerNews, machine), registryOf(machine), { file: "hn-item.json" })
