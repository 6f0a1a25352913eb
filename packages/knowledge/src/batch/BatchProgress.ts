/** How far a batch is, for people. */
import type { BatchFault, BatchState } from "./BatchState.ts"

/** Extraction is what takes long; each later stage is a step. */
export const progressPercent = (state: BatchState): number => {
  switch (state._tag) {
    case "Pending":
      return 0
    case "Extracting": {
      const done = state.documentsCompleted + state.documentsFailed + (state.documentsSetAside ?? 0)
      return state.documentsTotal === 0 ? 0 : Math.min(70, Math.round((done / state.documentsTotal) * 70))
    }
    case "Resolving":
      return 70
    case "Validating":
      return 80
    case "Ingesting":
      return 90
    case "Completed":
    case "PartiallyCompleted":
      return 100
    case "Failed":
    case "Cancelled": {
      const done = state.documentsCompleted + state.documentsFailed + (state.documentsSetAside ?? 0)
      return state.documentsTotal === 0 ? 0 : Math.min(70, Math.round((done / state.documentsTotal) * 70))
    }
  }
}

/** Whether nothing more happens to it without a request. */
export const isTerminal = ({ _tag }: BatchState): boolean =>
  _tag === "Completed" || _tag === "PartiallyCompleted" || _tag === "Failed" || _tag === "Cancelled"

export const errorOf = (state: BatchState): BatchFault | undefined => (state._tag === "Failed" ? state.error : undefined)

const names = {
  Pending: "Pending",
  Extracting: "Extracting",
  Resolving: "Resolving",
  Validating: "Validating",
  Ingesting: "Ingesting",
  Completed: "Completed",
  PartiallyCompleted: "Partially completed",
  Failed: "Failed",
  Cancelled: "Cancelled",
} as const

export const stageDisplayName = ({ _tag }: BatchState): string => names[_tag]
