/**
 * Commands are effects to be executed: requested by an instance and stored in the same commit as the event that caused
 * them, or enqueued by hand. Workers claim them in batches. Recording is exactly once, execution at least once; the
 * idempotency key is what makes its effects exactly once.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { CommandSignal } from "../command/CommandSignal.ts"
import type { InstanceKey, Json } from "./Commit.ts"
import type { Claim, ClaimedCommand, CommandStatus, StoredCommand } from "./StoredCommand.ts"

export type { AttemptError, Claim, ClaimedCommand, CommandStatus, StoredCommand } from "./StoredCommand.ts"

/** A command to be enqueued by hand. */
export interface NewCommand {
  readonly key: string
  readonly queue: string
  readonly slot: string
  readonly parameters: Json
  readonly instance: InstanceKey | undefined
  readonly priority: number
  readonly ordered: boolean
  /** Not before this time; undefined: from now on. */
  readonly runAt: number | undefined
  /** The delay in milliseconds by the store's clock. */
  readonly delayMillis: number
}

/** `Existing`: its key is taken, and nothing was changed. */
export type EnqueueOutcome =
  | { readonly _tag: "Enqueued"; readonly number: number }
  | { readonly _tag: "Existing"; readonly number: number }
  /** The instance it is to belong to does not exist. */
  | { readonly _tag: "NoInstance" }
  /** The store cannot take this one, by its content; the others are unharmed. */
  | PersistenceFailed

/** The result of a claimed command. */
export type Verdict =
  /** `problem`: the event that follows from it was refused. */
  | { readonly _tag: "Completed"; readonly problem?: string }
  | { readonly _tag: "Skipped"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly problem: string }
  /** It failed as its slot declares, and its instance took the event of the failure. */
  | { readonly _tag: "Handled"; readonly problem: string }
  /** Pending again after a while. */
  | { readonly _tag: "Retry"; readonly problem: string; readonly delayMillis: number }
  /** Handed back; this execution does not count. */
  | { readonly _tag: "Released"; readonly delayMillis: number }

export type Finished = Claim & { readonly verdict: Verdict }

export interface ExchangeRequest {
  /** The name of the worker, new with every start. */
  readonly worker: string
  readonly finished: ReadonlyArray<Finished>
  /** How many of which queue at most. */
  readonly wants: ReadonlyArray<Want>
  /** How long no other worker gets them. */
  readonly claimMillis: number
}

export interface Want {
  readonly queue: string
  readonly limit: number
}

export interface Exchange {
  /** By priority, then in the order they were enqueued. */
  readonly claimed: ReadonlyArray<ClaimedCommand>
  /** Numbers of finished commands that were no longer this worker's: their results were not stored. */
  readonly refused: ReadonlyArray<number>
  /** Milliseconds until it is worth asking again, by queue; a queue that is not named has nothing pending. */
  readonly next: ReadonlyMap<string, number>
  /** Queues that had more, but for the concurrency limit. */
  readonly busy: ReadonlySet<string>
}

export interface CommandFilter {
  readonly queue?: string
  readonly status?: CommandStatus
  readonly slot?: string
  readonly machine?: string
  /** The id of an instance; with `machine`. */
  readonly id?: string
  readonly enqueuedAfter?: number
  readonly enqueuedBefore?: number
}

export interface CommandPage {
  readonly commands: ReadonlyArray<StoredCommand>
  /** Where the next page begins, if there is one. */
  readonly next: number | undefined
}

/** Which commands of an instance are read. */
export interface InstanceCommandPage {
  /** At most this many. */
  readonly limit?: number | undefined
  /** Only those that were enqueued before the command of this number. */
  readonly before?: number | undefined
  /** Only those whose key begins with this. */
  readonly keyPrefix?: string | undefined
  /** Only those that events of these numbers requested, both included. */
  readonly sequences?: { readonly from: number; readonly through: number } | undefined
}

/** The most commands that are read of one instance. */
export const mostOfInstance = 100_000

export interface CommandCount {
  readonly queue: string
  readonly status: CommandStatus
  readonly count: number
}

/** The settings that all workers obey. */
export interface QueueSettings {
  readonly paused: boolean
  /** How many of its commands all workers together execute concurrently. */
  readonly concurrency: number | undefined
  /** How many begin within any such interval, by all workers together. */
  readonly rate: { readonly limit: number; readonly intervalMillis: number } | undefined
}

export type QueueRecord = QueueSettings & { readonly queue: string }

type Stored<A> = Effect.Effect<A, PersistenceFailed>

export interface CommandsService {
  /** Whether other processes may store commands without a notification of this one: then workers poll. */
  readonly isShared: boolean
  /** Notifies the workers of this process of new commands. */
  readonly signal: CommandSignal
  /**
   * Stores commands; one whose key is taken is left as it is. Inside a SQL transaction of the caller's they are a part of it:
   * if that is rolled back, they are not stored.
   */
  readonly enqueue: (commands: ReadonlyArray<NewCommand>) => Stored<ReadonlyArray<EnqueueOutcome>>
  /** Stores the results of one batch and claims the next, in one transaction. Each command goes to one worker. */
  readonly exchange: (request: ExchangeRequest) => Stored<Exchange>
  /** The queues in which the next ordered command of one of these instances can be claimed now. */
  readonly queuesOfNext: (instances: ReadonlyArray<InstanceKey>) => Stored<ReadonlySet<string>>
  /** Prolongs claims. Returns the numbers of those that are no longer this worker's. */
  readonly renew: (worker: string, claims: ReadonlyArray<Claim>, millis: number) => Stored<ReadonlyArray<number>>
  /** When the oldest of the first pending commands of a queue was enqueued. Commands whose time has not come do not count. */
  readonly oldestPending: (queue: string) => Stored<number | undefined>
  /** The claims on the first commands of a queue, by worker. */
  readonly claims: (queue: string) => Stored<ReadonlyMap<string, ReadonlyArray<Claim>>>
  /** Hands back commands that were claimed for this worker in an exchange whose answer was lost. Returns how many. */
  readonly disown: (worker: string, held: ReadonlyArray<number>) => Stored<number>
  /** Makes commands pending again whose claim has ended. Claiming does so by itself; returns how many. */
  readonly releaseExpired: Stored<number>

  /** The command with this key in a queue; without a queue, the first that was enqueued with it in any. */
  readonly get: (key: string, queue?: string) => Stored<Option.Option<StoredCommand>>
  /** In the order they were enqueued: the latest that the page has room for. Default: all. */
  readonly ofInstance: (instance: InstanceKey, page?: InstanceCommandPage) => Stored<ReadonlyArray<StoredCommand>>
  /** In the order they were enqueued; `after` is `next` of the page before. */
  readonly list: (filter: CommandFilter, limit: number, after?: number) => Stored<CommandPage>
  /** The counts of all that are stored. Their cost follows from the number of those that are not done. */
  readonly counts: Stored<ReadonlyArray<CommandCount>>
  /** The counts of unfinished commands: pending, processing and failed for good. Its cost follows from their number, not from that of all commands. */
  readonly backlog: Stored<ReadonlyArray<CommandCount>>

  /**
   * Machines whose commands could have been executed for this long, while none of theirs is being executed. Looks at the first
   * commands of each queue only: its cost follows from the number of queues.
   */
  readonly unserved: (overdueMillis: number) => Stored<ReadonlyArray<string>>

  /** Lets failed commands that match be executed again, in a new round, with all their attempts. Returns how many. */
  readonly retry: (filter: CommandFilter & { readonly key?: string }) => Stored<number>
  /** How many {@link retry} would affect. */
  readonly countRetries: (filter: CommandFilter & { readonly key?: string }) => Stored<number>
  /** Skips the failed or pending command with this key in a queue, or in all queues. False where there is none. */
  readonly skip: (key: string, reason: string, queue?: string) => Stored<boolean>
  /** Removes commands that ended with one of these statuses before a time, at most `limit`. Returns how many. */
  readonly purge: (statuses: ReadonlyArray<CommandStatus>, finishedBefore: number, limit: number) => Stored<number>

  /** Changes the given settings of a queue. */
  readonly configure: (queue: string, settings: Partial<QueueSettings>) => Stored<void>
  /** Queues that have settings. */
  readonly queues: Stored<ReadonlyArray<QueueRecord>>
}

/** How many commands of a queue are examined, in the order they are claimed in, and as many whose time was to come later. */
export const unservedSample = 100

/** The machines of these commands of which none is being executed. */
export const withoutExecution = (
  commands: ReadonlyArray<{ readonly machine: string; readonly status: CommandStatus }>,
): ReadonlyArray<string> => {
  const executed = new Set(commands.filter(({ status }) => status === "processing").map(({ machine }) => machine))
  return [...new Set(commands.map(({ machine }) => machine))].filter((machine) => !executed.has(machine))
}

export class Commands extends Context.Service<Commands, CommandsService>()("@detent/durable/Commands") {}
