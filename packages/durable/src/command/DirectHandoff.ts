/**
 * A worker that waits for commands offers to take what somebody is about to store in the same process: then it is claimed by the
 * statement that stores it, and begins a round trip and a transaction sooner.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { ClaimedCommand } from "../store/Commands.ts"

export interface DirectHandoff {
  readonly queue: string
  readonly worker: string
  readonly claimMillis: number
  /** These are the worker's now; none, where they were not to be claimed at once. */
  readonly taken: (claimed: ReadonlyArray<ClaimedCommand>) => void
  /** They may be the worker's or not. */
  readonly unanswered: (error: PersistenceFailed) => void
}
