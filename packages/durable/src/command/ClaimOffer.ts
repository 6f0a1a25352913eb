/**
 * A worker that waits for commands lends its next question to whoever stores some in the same process: then they are
 * claimed by the statement that stores them, and begin a round trip and a transaction sooner.
 */
import type { PersistenceFailed } from "@detent/machine"
import type { Exchange, Want } from "../Commands.ts"

export interface ClaimOffer {
  readonly worker: string
  readonly wants: ReadonlyArray<Want>
  readonly claimMillis: number
  /** The store answered. */
  readonly taken: (exchange: Exchange) => void
  /** Nothing was claimed, that is certain. */
  readonly declined: () => void
  /** It may have been claimed or not. */
  readonly unanswered: (error: PersistenceFailed) => void
}
