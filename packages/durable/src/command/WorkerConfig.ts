/** How a worker behaves. Everything has a default. */
import { RetryPolicy } from "@detent/machine"
import * as Duration from "effect/Duration"

export interface WorkerOptions {
  /** How many commands of one queue are executed here at once; 16 unless told. */
  readonly concurrency?: number
  /** How many of one queue are claimed at once at most, where they are executed quickly; 500 unless told. */
  readonly batchLimit?: number
  /**
   * How long a claim lasts; 30 seconds unless told. Those of commands that take longer are renewed; what a dead worker had is
   * free after this.
   */
  readonly claimDuration?: Duration.Input
  /** How often to look for commands nobody told of, when there was nothing for a while; 5 seconds unless told. */
  readonly pollInterval?: Duration.Input
  /** How long an execution may take where neither its slot nor its queue says; 5 minutes unless told. */
  readonly timeout?: Duration.Input
  /** How often a failed command is tried where neither its slot nor its queue says; five times with growing pauses unless told. */
  readonly retry?: RetryPolicy.RetryPolicy
  /** How long a stop waits for commands that are being executed; 30 seconds unless told. */
  readonly drainTimeout?: Duration.Input
}

export interface WorkerConfig {
  /** Unlike any other, also after a restart. */
  readonly name: string
  readonly concurrency: number
  readonly batchLimit: number
  readonly claimMillis: number
  readonly pollMillis: number
  readonly timeoutMillis: number
  readonly retry: RetryPolicy.RetryPolicy
  readonly drainTimeout: Duration.Duration
}

export const millisOf = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))

export const workerConfig = (options: WorkerOptions, name: string, isShared: boolean): WorkerConfig => {
  const concurrency = Math.max(1, options.concurrency ?? 16)
  return {
    name,
    concurrency,
    batchLimit: Math.max(concurrency, options.batchLimit ?? 500),
    claimMillis: millisOf(options.claimDuration ?? "30 seconds"),
    // Of a store that is this process's alone it is told of everything.
    pollMillis: isShared ? millisOf(options.pollInterval ?? "5 seconds") : Number.POSITIVE_INFINITY,
    timeoutMillis: millisOf(options.timeout ?? "5 minutes"),
    retry: options.retry ?? RetryPolicy.exponential({ jitter: 0.1 }),
    drainTimeout: Duration.fromInputUnsafe(options.drainTimeout ?? "30 seconds"),
  }
}
