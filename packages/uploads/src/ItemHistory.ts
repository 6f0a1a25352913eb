/** The states of one item with their times: from its file to its current state, through all its retries. */
import type { HistoryEntry } from "@detent/durable"
import type { EntityState } from "@detent/entity"
import type { ItemEntity } from "./item/ItemEntity.ts"
import type { ItemProblem } from "./item/ItemProblem.ts"

/** A state that the item was in. */
export interface ItemStep {
  readonly state: "ingested" | "validated" | "stored" | "failed"
  /** In milliseconds since 1970. */
  readonly at: number
  /** The attempt that the state belongs to, counted from 1. */
  readonly attempt: number
  /** Why it failed. */
  readonly problem: ItemProblem | undefined
}

type ItemState = EntityState<string, ItemEntity>

/** The steps of an item with this first state and these events. */
export const stepsOf = (
  first: ItemState,
  events: ReadonlyArray<Pick<HistoryEntry<ItemState, unknown>, "at" | "state">>,
): ReadonlyArray<ItemStep> => [...stepsOfAttempt(first.entity), ...events.flatMap(({ state, at }) => stepsOfAttempt(state.entity, at))]

/** An attempt ends in one decision, so the entity after it has the times of all its steps. */
const stepsOfAttempt = (entity: ItemEntity, decidedAt = 0): ReadonlyArray<ItemStep> => {
  const { attempts: attempt, problem, duplicateOf, storedAt, failedAt } = entity
  const end = storedAt ?? failedAt ?? decidedAt
  const { ingestedAt = end, validatedAt = end } = entity
  const wasValid = storedAt !== undefined || duplicateOf !== undefined
  return [
    { state: "ingested", at: ingestedAt, attempt, problem: undefined },
    ...(wasValid ? [{ state: "validated" as const, at: validatedAt, attempt, problem: undefined }] : []),
    { state: storedAt === undefined ? "failed" : "stored", at: end, attempt, problem },
  ]
}
