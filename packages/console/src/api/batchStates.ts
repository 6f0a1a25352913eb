/** The states of a batch, as the server names them. */
import type { BatchStatus } from "./types.ts"

type BatchStateName = BatchStatus["state"]

/** Whether a process works on a batch in this state. The states are in the order in which a batch passes them. */
const underWay: Readonly<Record<BatchStateName, boolean>> = {
  Pending: true,
  Extracting: true,
  Resolving: true,
  Validating: true,
  Ingesting: true,
  Completed: false,
  PartiallyCompleted: false,
  Failed: false,
  Cancelled: false,
}

export const batchStates: ReadonlyArray<string> = Object.keys(underWay)

export const isUnderWay = (state: unknown): boolean => Object.entries(underWay).some(([name, works]) => works && name === state)

/** The states of a batch that ends well. */
export const batchStages: ReadonlyArray<string> = [...batchStates.filter(isUnderWay), "Completed" satisfies BatchStateName]
