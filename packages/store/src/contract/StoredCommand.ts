/** A command as the store has it, and the claim of a worker on it. */
import type { InstanceKey, Json } from "./Commit.ts"

/**
 * `failed` (for good) is a dead letter. `handled` failed with an error that its slot declares, and the instance accepted the event
 * that `onFailure` makes of it. `skipped` had been executed before, or was given up by hand.
 */
export type CommandStatus = "pending" | "processing" | "completed" | "failed" | "handled" | "skipped"

/** The failure of one execution. */
export interface AttemptError {
  /** Which execution it was, counted from 1 in each round. */
  readonly attempt: number
  /** When it was recorded. */
  readonly at: number
  readonly problem: string
}

/** How many errors are kept with a command: the first one, also after a retry by hand, and the latest. */
export const keptErrors = 5

/** A command as it is stored. */
export interface StoredCommand {
  readonly number: number
  /** Its idempotency key, unique within its queue: the same key again refers to the first command. */
  readonly key: string
  readonly queue: string
  readonly slot: string
  readonly parameters: Json
  /** The instance that it belongs to. */
  readonly instance: InstanceKey | undefined
  /** The event that requested it; -1 where it was enqueued by hand. */
  readonly sequence: number
  readonly status: CommandStatus
  readonly priority: number
  readonly ordered: boolean
  /** The tenant or customer that it is for, if it was given one. */
  readonly group: string | undefined
  /** How often it was claimed to be executed, since it was last retried by hand. */
  readonly attempts: number
  /** How often it was retried by hand after it had failed for good. */
  readonly round: number
  /** It is not executed before this time. */
  readonly runAt: number
  /** The worker that executes it, or did so last. */
  readonly worker: string | undefined
  /** While it is executed: when other workers may claim it. */
  readonly claimedUntil: number | undefined
  /** Why it failed last or was skipped, or why the instance refused the event that reports its result. */
  readonly problem: string | undefined
  /** The errors of its first and its latest executions, oldest first, at most {@link keptErrors}. */
  readonly errors: ReadonlyArray<AttemptError>
  readonly enqueuedAt: number
  readonly finishedAt: number | undefined
}

/** Proof that a worker holds a command: the number of the command, and the number of the claim on it, which grows with each claim. */
export interface Claim {
  readonly number: number
  readonly claim: number
}

/** A command that a worker has claimed. */
export interface ClaimedCommand extends Claim {
  readonly key: string
  readonly queue: string
  readonly slot: string
  readonly parameters: Json
  readonly instance: InstanceKey | undefined
  readonly sequence: number
  readonly priority: number
  /** The next ordered command of its instance can be claimed when this one has ended. */
  readonly ordered: boolean
  readonly group: string | undefined
  /** How often it was executed in this round, this time included. */
  readonly attempts: number
  /** How often it was retried by hand: the event that reports its result is accepted once in every round. */
  readonly round: number
  readonly enqueuedAt: number
}
