/**
 * Commands are effects to be executed: requested by an instance and stored in the same commit as the event that caused
 * them, or enqueued by hand. Workers claim them in batches. A command is recorded exactly once and executed at least once; its
 * idempotency key makes its effects exactly once.
 */
import type { PersistenceFailed } from "@detent/machine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { CommandSignal } from "./CommandSignal.ts"
import type { InstanceKey, Json } from "./Commit.ts"
import type { DatabaseId } from "./DatabaseId.ts"
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
  /** It is not executed before this time; undefined: from now on. */
  readonly runAt: number | undefined
  /** The delay in milliseconds by the store's clock. */
  readonly delayMillis: number
  /** The tenant or customer that it is for: the groups of a queue take turns, and have limits of their own. Undefined: none. */
  readonly group?: string | undefined
  /** While a pending command of the queue has the same pending key, this one is not stored. A command loses it when it is claimed. */
  readonly pendingKey?: string | undefined
  /** The pending command that keeps this one from being stored gets its parameters and its time. Default: it stays as it is. */
  readonly replaces?: boolean
}

/** `Existing`: its key or pending key is taken. `key`: the key of the command that has it, where that is another one. */
export type EnqueueOutcome =
  | { readonly _tag: "Enqueued"; readonly number: number }
  | { readonly _tag: "Existing"; readonly number: number; readonly key?: string }
  /** The instance of the command does not exist. */
  | { readonly _tag: "NoInstance" }
  /** The store refuses the content of this command; the others are not affected. */
  | PersistenceFailed

/** The result of a claimed command. */
export type Verdict =
  /** `problem`: why the instance refused the event that reports the result. */
  | { readonly _tag: "Completed"; readonly problem?: string }
  | { readonly _tag: "Skipped"; readonly reason: string }
  /** `frames`: the stack frames of the error, for the log. They are not stored. */
  | { readonly _tag: "Failed"; readonly problem: string; readonly frames?: string }
  /** It failed with an error that its slot declares, and its instance accepted the event that reports the failure. */
  | { readonly _tag: "Handled"; readonly problem: string }
  /** Pending again after the delay. */
  | { readonly _tag: "Retry"; readonly problem: string; readonly delayMillis: number }
  /** Handed back by the worker; this execution does not count as an attempt. */
  | { readonly _tag: "Released"; readonly delayMillis: number }

/** The verdict on a command that failed for good. */
export type CommandFailure = Extract<Verdict, { readonly _tag: "Failed" | "Handled" }>

export type Finished = Claim & { readonly verdict: Verdict }

export interface ExchangeRequest {
  /** The name of the worker, new with every start. */
  readonly worker: string
  readonly finished: ReadonlyArray<Finished>
  /** The queues to claim from, each with the most commands to claim. */
  readonly wants: ReadonlyArray<Want>
  /** How long a claim lasts: until then no other worker gets the command. */
  readonly claimMillis: number
}

export interface Want {
  readonly queue: string
  readonly limit: number
}

export interface Exchange {
  /** By priority, then in the order they were enqueued. Those of several groups take turns. */
  readonly claimed: ReadonlyArray<ClaimedCommand>
  /** Numbers of finished commands that this worker no longer held: their results were not stored. */
  readonly refused: ReadonlyArray<number>
  /** Milliseconds until a command may become claimable, by queue. A queue without an entry has nothing pending. */
  readonly next: ReadonlyMap<string, number>
  /** Queues that have more commands, held back by the concurrency limit. */
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
  /** Only those that were requested by events of these sequence numbers, both ends included. */
  readonly sequences?: { readonly from: number; readonly through: number } | undefined
}

/** The most commands that are read of one instance. */
export const mostOfInstance = 100_000

export interface CommandCount {
  readonly queue: string
  readonly status: CommandStatus
  readonly count: number
}

/** At most this many within any interval of this length. */
export interface Rate {
  readonly limit: number
  readonly intervalMillis: number
}

/** The settings that all workers obey. */
export interface QueueSettings {
  readonly paused: boolean
  /** How many of its commands all workers together execute concurrently. */
  readonly concurrency: number | undefined
  /** How many commands all workers together start within any interval of this length. */
  readonly rate: Rate | undefined
  /** What applies to each group of the queue that has no limits of its own. */
  readonly perGroup: GroupLimits | undefined
}

export type QueueRecord = QueueSettings & { readonly queue: string }

/** The limits of one group, over all workers. */
export interface GroupLimits {
  readonly concurrency: number | undefined
  readonly rate: Rate | undefined
}

/** A group that has commands which could be executed now, or limits of its own. */
export interface GroupRecord {
  readonly group: string
  /** Pending commands that are due, counted up to {@link mostCounted}. */
  readonly pending: number
  /** Commands that are being executed, counted among as many. */
  readonly running: number
  /** Its own limits, which replace those of `perGroup`. */
  readonly own: GroupLimits | undefined
}

/** How many commands of a group are counted. */
export const mostCounted = 1000

type Stored<A> = Effect.Effect<A, PersistenceFailed>

export interface CommandsService {
  readonly databaseId: DatabaseId
  /** Whether other processes may store commands without notifying this one: then workers poll. */
  readonly isShared: boolean
  /** Whether clients of the database can store commands in the inboxes of machines, by SQL functions. Default: false. */
  readonly hasInboxes?: boolean
  /** Notifies the workers of this process of new commands. */
  readonly signal: CommandSignal
  /**
   * Stores commands. A command whose key exists already is left as it is. Inside a SQL transaction of the caller they are part of
   * it: if it is rolled back, they are not stored.
   */
  readonly enqueue: (commands: ReadonlyArray<NewCommand>) => Stored<ReadonlyArray<EnqueueOutcome>>
  /** Stores the results of one batch and claims the next, in one transaction. Each command goes to one worker. */
  readonly exchange: (request: ExchangeRequest) => Stored<Exchange>
  /** The queues in which the next ordered command of one of these instances can be claimed now. */
  readonly queuesOfNext: (instances: ReadonlyArray<InstanceKey>) => Stored<ReadonlySet<string>>
  /** Extends claims. Returns the numbers of commands that this worker no longer holds. */
  readonly renew: (worker: string, claims: ReadonlyArray<Claim>, millis: number) => Stored<ReadonlyArray<number>>
  /** When the oldest of the first pending commands of a queue was enqueued. Commands that are not due yet do not count. */
  readonly oldestPending: (queue: string) => Stored<number | undefined>
  /** The claims on the first commands of a queue, by worker. */
  readonly claims: (queue: string) => Stored<ReadonlyMap<string, ReadonlyArray<Claim>>>
  /** Hands back commands that were claimed for this worker in an exchange whose answer was lost. Returns how many. */
  readonly disown: (worker: string, held: ReadonlyArray<number>) => Stored<number>
  /** Makes commands pending again whose claim has ended. Claiming does so by itself; returns how many. */
  readonly releaseExpired: Stored<number>

  /** The command with this key in a queue; without a queue, the first that was enqueued with this key in any queue. */
  readonly get: (key: string, queue?: string) => Stored<Option.Option<StoredCommand>>
  /** Commands of an instance in the order they were enqueued. With a limit, the latest of them. Default: all. */
  readonly ofInstance: (instance: InstanceKey, page?: InstanceCommandPage) => Stored<ReadonlyArray<StoredCommand>>
  /** In the order they were enqueued; `after` is `next` of the page before. */
  readonly list: (filter: CommandFilter, limit: number, after?: number) => Stored<CommandPage>
  /** The counts of all stored commands. The cost grows with the number of unfinished commands. */
  readonly counts: Stored<ReadonlyArray<CommandCount>>
  /** The counts of commands that are pending, processing or failed for good. The cost grows with their number, not with that of all. */
  readonly backlog: Stored<ReadonlyArray<CommandCount>>

  /**
   * Machines with commands that have been due for this long, while none of their commands is being executed. Reads only the first
   * commands of each queue: the cost grows with the number of queues.
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
  /** Gives one group limits of its own in place of those of `perGroup`; undefined: it has none any more. */
  readonly configureGroup: (queue: string, group: string, own: GroupLimits | undefined) => Stored<void>
  /** Groups of a queue by name, at most `limit`, after a name. */
  readonly groups: (queue: string, limit: number, after?: string) => Stored<ReadonlyArray<GroupRecord>>
}

/** How many commands of a queue `unserved` reads, in the order of claims, and as many that were delayed. */
export const unservedSample = 100

/** The machines of these commands of which none is being executed. */
export const withoutExecution = (
  commands: ReadonlyArray<{ readonly machine: string; readonly status: CommandStatus }>,
): ReadonlyArray<string> => {
  const executed = new Set(commands.filter(({ status }) => status === "processing").map(({ machine }) => machine))
  return [...new Set(commands.map(({ machine }) => machine))].filter((machine) => !executed.has(machine))
}

export class Commands extends Context.Service<Commands, CommandsService>()("@detent/durable/Commands") {}
