/** The settings of a worker. Each has a default. */
import { RetryPolicy } from "@detent/machine"
import type { CommandsService } from "@detent/store"
import type { DatabaseId } from "@detent/store/internal"
import * as Duration from "effect/Duration"
import { countOf, millisAtLeast } from "../runtime/Options.ts"

export interface WorkerOptions {
  /** How many commands of one queue this worker executes concurrently. Default: 16. */
  readonly concurrency?: number
  /** The most commands of one queue that it claims in one request, if they are executed quickly. Default: 500. */
  readonly batchLimit?: number
  /**
   * How long a claim lasts. Default: 30 seconds. Claims of commands that take longer are renewed; the commands of a dead worker
   * can be claimed again after this.
   */
  readonly claimDuration?: Duration.Input
  /** The longest time between two polls for commands that no notification announced. Default: 5 seconds. */
  readonly pollInterval?: Duration.Input
  /** How long an execution may take if neither its slot nor its queue sets a timeout. Default: 5 minutes. */
  readonly timeout?: Duration.Input
  /** How often a failed command is tried if neither its slot nor its queue sets a policy. Default: `RetryPolicy.standard`, for about a day. */
  readonly retry?: RetryPolicy.RetryPolicy
  /** How long a stop waits for commands that are being executed. Default: 30 seconds. */
  readonly drainTimeout?: Duration.Input
  /**
   * How long commands of any queue are kept after their end: `finished` ones, and `deadLetters`. Their keys are removed with them: the same
   * key then makes a new command. Default: forever. Those that an instance requested are removed with the instance in any case.
   */
  readonly retention?: { readonly finished?: Duration.Input; readonly deadLetters?: Duration.Input }
}

/** Undefined: they are kept. */
export interface CommandRetention {
  readonly finishedMillis: number | undefined
  readonly deadLetterMillis: number | undefined
}

export interface WorkerConfig {
  readonly databaseId: DatabaseId
  /** Unique, also after a restart. */
  readonly name: string
  readonly concurrency: number
  readonly batchLimit: number
  readonly claimMillis: number
  readonly pollMillis: number
  readonly timeoutMillis: number
  readonly retry: RetryPolicy.RetryPolicy
  readonly drainTimeout: Duration.Duration
  readonly retention: CommandRetention
}

export const millisOf = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

const optionalMillis = (name: string, duration: Duration.Input | undefined): number | undefined =>
  duration === undefined ? undefined : millisAtLeast(1, name, duration)

/** Throws a `DefinitionError` for an option with which no worker could work. */
export const workerConfig = (
  options: WorkerOptions,
  name: string,
  { isShared, databaseId }: Pick<CommandsService, "isShared" | "databaseId">,
): WorkerConfig => {
  const concurrency = countOf("worker.concurrency", options.concurrency ?? 16)
  const pollMillis = millisAtLeast(1, "worker.pollInterval", options.pollInterval ?? "5 seconds")
  return {
    databaseId,
    name,
    concurrency,
    batchLimit: Math.max(concurrency, countOf("worker.batchLimit", options.batchLimit ?? 500)),
    claimMillis: millisAtLeast(1, "worker.claimDuration", options.claimDuration ?? "30 seconds"),
    // A store that only this process uses announces every command.
    pollMillis: isShared ? pollMillis : Number.POSITIVE_INFINITY,
    timeoutMillis: millisAtLeast(1, "worker.timeout", options.timeout ?? "5 minutes"),
    retry: options.retry ?? RetryPolicy.standard,
    drainTimeout: Duration.millis(millisAtLeast(0, "worker.drainTimeout", options.drainTimeout ?? "30 seconds")),
    retention: {
      finishedMillis: optionalMillis("worker.retention.finished", options.retention?.finished),
      deadLetterMillis: optionalMillis("worker.retention.deadLetters", options.retention?.deadLetters),
    },
  }
}
